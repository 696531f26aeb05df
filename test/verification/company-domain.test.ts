import { describe, expect, it } from 'vitest';
import { companyDomainIn } from '../../src/verification/company-domain.ts';

describe('the domain of a company', () => {
  it.each([
    'facebook.com/acme',
    'https://www.facebook.com/acme?ref=x',
    'https://m.facebook.com/profile.php?id=1',
    'linkedin.com/company/x',
    'http://de.linkedin.com/company/acme/about/',
    'linktr.ee',
    'https://linktr.ee/acme',
    'g.page',
    'g.page/acme',
    'bit.ly',
    'https://bit.ly/3xYz',
    'sites.google.com',
    'https://sites.google.com/view/acme',
    'https://www.google.com/maps/place/Acme',
    'gmail.com',
    'www.gmail.com',
    'instagram.com/acme',
    'twitter.com/acme',
    'https://x.com/acme',
    'https://youtube.com/@acme',
    'https://wa.me/442079460101',
    'https://t.me/acme',
    'acme.business.site',
    'https://www.yelp.com/biz/acme',
    'https://github.com/acme',
    'facebook.com/acme, instagram.com/acme',
  ])('a company has no domain in %s', (text) => {
    expect(companyDomainIn(text)).toBeNull();
  });

  it.each([
    ['acme.example', 'acme.example'],
    ['https://www.acme.example/facebook.com/acme', 'acme.example'],
    ['facebook.com.acme.example', 'facebook.com.acme.example'],
    ['notfacebook.com/acme', 'notfacebook.com'],
    ['https://www.google.com/', 'google.com'],
    ['github.com', 'github.com'],
    ['x.com', 'x.com'],
    ['bitly.com', 'bitly.com'],
    ['facebook.com/acme; www.acme.example', 'acme.example'],
    ['acme.example | linkedin.com/company/acme', 'acme.example'],
  ])('a company with %s has the domain %s', (text, domain) => {
    expect(companyDomainIn(text)).toBe(domain);
  });
});
