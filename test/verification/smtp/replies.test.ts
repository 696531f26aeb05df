import { expect, it } from 'vitest';
import { countFamily, meaningOf } from '../replies.ts';

it('no real reply about an existing mailbox is classified as dead', () => {
  expect(countFamily('living').calledDead).toEqual([]);
  expect(countFamily('full').calledDead).toEqual([]);
});

it('at least 80 % of the real replies about dead mailboxes are classified as dead', () => {
  const [dead, disabled] = [countFamily('dead'), countFamily('disabled')];
  const settled = dead.calledDead.length + disabled.calledDead.length;
  expect(settled / (dead.replies + disabled.replies)).toBeGreaterThanOrEqual(0.8);
});

it('at least 95 % of the real replies about full mailboxes are classified as full', () => {
  const full = countFamily('full');
  expect(full.calledFull / full.replies).toBeGreaterThanOrEqual(0.95);
});

it.each([
  ['User has reached the storage limit', 'mailbox_full'],
  ["User's inbox storage is exhausted", 'mailbox_full'],
  ['mailbox is over its limit', 'mailbox_full'],
  ['Mailbox is frozen, quota reached', 'mailbox_full'],
  ['Das Postfach ist ueberfuellt', 'mailbox_full'],
  ['Casilla llena', 'mailbox_full'],
  ['La boîte est saturée', 'mailbox_full'],
  ['Skrzynka przepełniona', 'mailbox_full'],
  ['Почтовый ящик переполнен', 'mailbox_full'],
  ['收件人邮箱已满', 'mailbox_full'],
  ['Recipient rejected - throttled', 'policy_rejected'],
  ['user over limit of received mails', 'policy_rejected'],
  ['No such user - callout failed', 'policy_rejected'],
  ['troppi destinatari', 'policy_rejected'],
  ['Сообщение отклонено как спам', 'policy_rejected'],
  ['发件人被列入黑名单', 'policy_rejected'],
])('"%s" means %s, also under 5.1.1 and 5.2.1', (words, meaning) => {
  for (const enhanced of ['5.1.1 ', '5.2.1 ', '']) expect(meaningOf(`550 ${enhanced}${words}`)).toBe(meaning);
});
