/** Functions that run in pages. Text, because the page has another global scope than this program. */

/**
 * The library sends the text of a function to the page; this is a function with another text.
 * @param text of a function
 */
function pageFunction(text: string): (argument: unknown) => never {
  return Object.assign(() => undefined as never, { toString: () => text }); // only the page calls it
}

/** An expression whose value is the result; if it is a function, its result, called with the element. */
export function pageScript(expression: string): (element: unknown) => unknown {
  return pageFunction(`(element) => {
  const value = (${expression}
  );
  return typeof value === "function" ? value(element) : value;
}`);
}

/** Width and height of the whole page. */
export const PAGE_SIZE: (argument: void) => unknown[] = pageFunction(
  "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]",
);

/** A reference and its x, y, width and height. */
export interface Label {
  readonly ref: string;
  readonly box: readonly number[];
}

/** Shows a label with its reference beside each box. @returns the element that holds all labels */
export const DRAW_LABELS: (argument: readonly Label[]) => unknown = pageFunction(`(boxes) => {
  const host = document.createElement("div");
  host.style.cssText = "position:fixed;inset:0;z-index:2147483647;pointer-events:none";
  for (const { ref, box: [x, y, width, height] } of boxes) {
    const frame = document.createElement("div");
    frame.style.cssText = \`position:absolute;left:\${x}px;top:\${y}px;width:\${width}px;height:\${height}px;outline:1px solid #d00\`;
    const label = document.createElement("span");
    label.style.cssText = "position:absolute;left:0;top:0;font:10px monospace;background:#d00;color:#fff";
    label.textContent = ref;
    frame.append(label);
    host.append(frame);
  }
  document.documentElement.append(host);
  return host;
}`);

/** Removes what `DRAW_LABELS` returned. */
export const REMOVE: (argument: unknown) => void = pageFunction("(element) => element.remove()");
