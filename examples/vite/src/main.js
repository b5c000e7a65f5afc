import { greeting } from './greeting.js';

const show = (text) => { document.getElementById('greeting').textContent = text; };
const button = document.getElementById('count');

async function ask(method) {
  const { count } = await (await fetch('/api/count', { method })).json();
  button.textContent = `counted to ${count}`;
}

show(greeting);
button.onclick = () => ask('POST');
ask('GET');

// Change greeting.js while this page is open: the text changes, the page is not loaded again.
if (import.meta.hot) import.meta.hot.accept('./greeting.js', (fresh) => show(fresh.greeting));
