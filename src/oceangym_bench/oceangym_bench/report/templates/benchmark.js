'use strict';
(() => {
  // A column is sorted by number where it holds numbers, else by text; a second press reverses it.
  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = Number(text.replaceAll(',', '').replace('−', '-'));
    if (text === '–') return { missing: true };
    return { number: Number.isNaN(number) ? null : number, text };
  };
  const compare = (a, b) => {
    if (a.missing || b.missing) return Boolean(a.missing) - Boolean(b.missing);
    if (a.number !== null && b.number !== null) return a.number - b.number;
    return a.text.localeCompare(b.text, 'en', { numeric: true });
  };
  for (const table of document.querySelectorAll('table.sortable')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector('button').addEventListener('click', () => {
      const falling = head.getAttribute('aria-sort') === 'ascending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
      const body = table.tBodies[0];
      const keyed = [...body.rows].map((row) => [value(row, column), row]);
      keyed.sort(([a], [b]) => {
        const order = compare(a, b);
        return a.missing || b.missing || !falling ? order : -order;
      });
      body.append(...keyed.map(([, row]) => row));
    }));
  }
  const opened = [];
  window.addEventListener('beforeprint', () => {
    for (const details of document.querySelectorAll('details:not([open])')) { details.open = true; opened.push(details); }
  });
  window.addEventListener('afterprint', () => { for (const details of opened.splice(0)) details.open = false; });
})();
