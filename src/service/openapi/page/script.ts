/** What moves in the reference: the search, the address in the examples, and everything unfolded on paper. Without it the page is whole, too. */
export const SCRIPT = `
for (const origin of document.querySelectorAll('.origin')) origin.textContent = location.origin;
const search = document.querySelector('#search');
const sections = [...document.querySelectorAll('[data-words]')];
document.querySelector('.search').hidden = false;
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\\s+/).filter(Boolean);
  for (const section of sections) section.hidden = !words.every((word) => section.dataset.words.includes(word));
});
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
});
`;
