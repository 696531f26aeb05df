/** Hosts whose pages belong to their users, by what they are. A website there names no company. Compiled by hand. */

const hosts = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Social networks and messengers. */
const SOCIAL = hosts(`
  facebook.com fb.com fb.me fb.watch messenger.com instagram.com instagr.am linkedin.com lnkd.in twitter.com t.co threads.net
  threads.com tiktok.com youtube.com youtu.be pin.it redd.it vk.com vkontakte.ru ok.ru weibo.com weibo.cn douyin.com wechat.com
  weixin.qq.com line.me whatsapp.com wa.me t.me telegram.me telegram.org discord.gg signal.me bsky.app mastodon.social naver.me
`);

/** Shorteners. */
const SHORTENERS = hosts(`
  bit.ly j.mp tinyurl.com goo.gl maps.app.goo.gl ow.ly buff.ly is.gd v.gd rebrand.ly cutt.ly shorturl.at short.io t.ly tiny.cc rb.gy
  dlvr.it lnk.bio hubs.ly hubs.la trib.al s.id qr.ae adf.ly bl.ink clck.ru urlz.fr soo.gd amzn.to youtu.be spoti.fi apple.co
`);

/** Pages of links, and builders of free sites. */
const LINK_PAGES = hosts(`
  linktr.ee linktree.com linkin.bio bio.link beacons.ai campsite.bio taplink.cc msha.ke solo.to about.me carrd.co flow.page
  allmylinks.com hoo.be milkshake.app koji.to contactinbio.com direct.me linkpop.com
`);

/** Pages of Google that belong to others. */
const GOOGLE = hosts(`
  g.page g.co goo.gl sites.google.com maps.google.com plus.google.com docs.google.com drive.google.com forms.gle business.google.com
  mybusiness.google.com business.site play.google.com photos.google.com calendar.google.com search.google.com
`);

/** No company's domain, with or without a path. */
export const PAGE_HOSTS: ReadonlySet<string> = new Set([...SOCIAL, ...SHORTENERS, ...LINK_PAGES, ...GOOGLE]);

/** Networks, directories, shops and code hosts: companies themselves, whose pages below a path are those of others. */
export const DIRECTORY_HOSTS: ReadonlySet<string> = new Set(
  hosts(`
    x.com snapchat.com pinterest.com pinterest.co.uk pinterest.de pinterest.fr reddit.com tumblr.com discord.com viber.com xing.com
    twitch.tv vimeo.com dailymotion.com flickr.com soundcloud.com spotify.com quora.com meetup.com nextdoor.com kakao.com skype.com
    calendly.com google.com bing.com apple.com yelp.com yelp.de tripadvisor.com booking.com crunchbase.com angel.co wellfound.com
    glassdoor.com indeed.com clutch.co trustpilot.com g2.com capterra.com bbb.org yellowpages.com gelbeseiten.de pagesjaunes.fr
    paginegialle.it kompass.com wlw.de dnb.com zoominfo.com apollo.io wikipedia.org wikidata.org amazon.com amazon.de amazon.co.uk
    ebay.com ebay.de etsy.com aliexpress.com alibaba.com github.com gitlab.com bitbucket.org medium.com substack.com patreon.com
    kickstarter.com gofundme.com behance.net dribbble.com eventbrite.com slideshare.net scribd.com issuu.com opencorporates.com
    northdata.de
  `),
);
