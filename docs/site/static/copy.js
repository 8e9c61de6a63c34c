// A button beside each example that puts it into the clipboard.

for (const box of document.querySelectorAll('div.highlight')) {
  const text = box.querySelector('pre');
  if (!text || !navigator.clipboard) continue;
  const words = text.textContent;
  const button = document.createElement('button');
  Object.assign(button, { type: 'button', className: 'copy', textContent: 'Copy' });
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(words.replace(/\n$/, ''));
      button.textContent = 'Copied';
    } catch { button.textContent = 'Select the text and copy it'; }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  box.prepend(button);
}
