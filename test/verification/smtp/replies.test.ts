import { expect, it } from 'vitest';
import { countFamily } from '../replies.ts';

it('calls no mailbox dead over a real reply that says nothing against it', () => {
  expect(countFamily('living').calledDead).toEqual([]);
  expect(countFamily('full').calledDead).toEqual([]);
});

it('settles at least 80 % of the real replies about dead mailboxes', () => {
  const [dead, disabled] = [countFamily('dead'), countFamily('disabled')];
  const settled = dead.calledDead.length + disabled.calledDead.length;
  expect(settled / (dead.replies + disabled.replies)).toBeGreaterThanOrEqual(0.8);
});

it('tells a full mailbox from the others', () => {
  const full = countFamily('full');
  expect(full.calledFull / full.replies).toBeGreaterThanOrEqual(0.95);
});
