/** Links to places of the panel. */

/** Handler for `click` of such a link: goes there without loading the page again. New tabs and windows are the browser's. */
export function following(go: () => void): (event: MouseEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go();
  };
}
