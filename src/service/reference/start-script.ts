/** The script that starts Scalar on the page. */

/** Darker than Scalar's own: with these every text has the contrast of WCAG AA. */
const STYLE = `
:root { --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace; }
.light-mode {
  --scalar-color-3: #666;
  --scalar-color-green: #00704a;
  --scalar-color-red: #c00;
  --scalar-color-yellow: #7a5a00;
  --scalar-color-orange: #a34a00;
  --scalar-color-blue: #0b57a4;
  --scalar-color-purple: #6b3fb5;
}
.dark-mode { --scalar-color-3: #9a9a9a; --scalar-color-red: #ff8f8f; }
`;

/** Options of Scalar 1.76. Everything that would speak to another host is off. */
const OPTIONS = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  documentDownloadType: 'none',
  persistAuth: false,
  // Its own examples are not of our libraries. Ours are in the document.
  hiddenClients: true,
  customCss: STYLE,
};

/**
 * Shows the document with the page's own address in its examples. `redirect` and `hashchange` lead former fragments to their places. `mend`
 * gives the elements of Scalar what ARIA requires of them.
 * @param anchors by former fragment
 */
export function startScript(document: string, anchors: Readonly<Record<string, string>>): string {
  return `
const anchors = ${inScript(anchors)};
const placeOf = (hash) => Object.hasOwn(anchors, hash.slice(1)) ? '#' + anchors[hash.slice(1)] : null;
addEventListener('hashchange', () => {
  const place = placeOf(location.hash);
  if (place !== null) location.replace(place);
});

const mend = () => {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  each('[role=combobox]:not([aria-expanded])', (box) =>
    box.setAttribute('aria-expanded', String(document.getElementById(box.getAttribute('aria-controls')) !== null)));
  each('button[role=none]', (button) => button.removeAttribute('role'));
  each('.cm-content:not([aria-label])', (editor) => editor.setAttribute('aria-label', 'Body'));
  each('[role=combobox]:not([aria-label], [aria-labelledby], [placeholder])', (box) => box.setAttribute('aria-label', 'Search'));
  each('[role=listbox] > div[aria-labelledby]:not([role])', (group) => group.setAttribute('role', 'group'));
  each('[data-headlessui-focus-guard][aria-hidden]', (guard) => {
    guard.removeAttribute('aria-hidden');
    guard.setAttribute('aria-label', 'Leave the list');
  });
  each('[id^=headlessui-popover-panel]:not([role])', (panel) => {
    panel.setAttribute('role', 'region');
    panel.setAttribute('aria-label', 'List');
  });
  each('.response-card[role=region]', (card) => card.setAttribute('role', 'group'));
  each('.scalar-client section[aria-label^=Notifications]', (section) => section.setAttribute('aria-label', 'Messages of the request'));
  const isOpen = document.querySelector('.scalar-client--open') !== null;
  each('main.references-rendered', (main) => { main.inert = isOpen; });
};
new MutationObserver(mend).observe(document.body, {
  subtree: true, childList: true, attributes: true, attributeFilter: ['role', 'class', 'aria-expanded'],
});

fetch(${inScript(document)})
  .then((answer) => answer.text())
  .then((text) => Scalar.createApiReference('#app', {
    ...${inScript(OPTIONS)},
    content: JSON.parse(text.replaceAll('http://127.0.0.1:8080', location.origin)),
    generateTagSlug: ({ name }) => name,
    generateOperationSlug: ({ operationId }) => operationId,
    generateWebhookSlug: ({ name }) => name,
    generateModelSlug: ({ name }) => name,
    redirect: placeOf,
  }));
`;
}

/** As a value in a script of an HTML page. */
function inScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
}
