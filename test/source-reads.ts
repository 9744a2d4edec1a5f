/** The sources of the product, and whether one reads a property by name: `.key`, `["key"]`, or by destructuring. Works on text, without a parser. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { root } from "./checkout.ts";

/** Paths of TypeScript files, relative to the checkout. */
export function sourcesBelow(directory: string): string[] {
  return readdirSync(join(root, directory)).flatMap((name) => {
    const path = join(directory, name);
    if (name === "node_modules" || name === "dist" || name.startsWith(".")) return [];
    return statSync(join(root, path)).isDirectory() ? sourcesBelow(path) : path.endsWith(".ts") ? [path] : [];
  });
}

/** Replaces comments with blanks, so that their text does not count as code. */
export function codeOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, " ").replace(/(^|[\s;{}(,])\/\/.*$/gm, "$1");
}

/** @param code without comments */
export function readsProperty(code: string, key: string): boolean {
  const name = key.replaceAll(/[^\w]/g, String.raw`\$&`);
  const access = new RegExp(String.raw`\.${name}\b(?!\s*=(?![=>]))|[\w)\].]\[["']${name}["']\](?!\s*=(?![=>]))`);
  if (access.test(code)) return true;
  // A binding stands between braces and commas: `{ key }`, `{ key: other }`, `{ key = 1 }`, `{ "key": other }`.
  const binding = new RegExp(String.raw`[{,]\s*["']?${name}["']?\s*(?=[,}:=])`, "g");
  return [...code.matchAll(binding)].some(({ index }) => {
    const open = code[index] === "{" ? index : enclosing(code, index, "{", "}");
    return open !== undefined && isTakenApart(code, open);
  });
}

/** Whether these braces destructure a value instead of creating one. */
function isTakenApart(code: string, open: number): boolean {
  const close = closing(code, open, "{", "}");
  const after = code.slice(close + 1).trimStart();
  const outer = /:\s*$/.test(code.slice(Math.max(0, open - 40), open)) ? enclosing(code, open, "{", "}") : undefined;
  if (outer !== undefined && /^[},]/.test(after)) return isTakenApart(code, outer);
  // `([, { key }]) => ...`
  const list = /[[,]\s*$/.test(code.slice(Math.max(0, open - 40), open)) ? enclosing(code, open, "[", "]") : undefined;
  if (after.startsWith("]") && list !== undefined) return isBound(code, list, closing(code, list, "[", "]"));
  return isBound(code, open, close);
}

/** Whether what stands between here and there is a parameter. */
function isBound(code: string, open: number, close: number): boolean {
  const after = code.slice(close + 1).trimStart();
  if (/^(?:=(?![=>])|:|of\b)/.test(after)) return true;
  if (!/^[,)]/.test(after)) return false;
  const paren = enclosing(code, open, "(", ")");
  // Parameters of a function: a body or an arrow follows them.
  return paren !== undefined && /^\s*(?::[^;{}=]*)?(?:=>|\{)/.test(code.slice(closing(code, paren, "(", ")") + 1));
}

function enclosing(code: string, from: number, open: string, close: string): number | undefined {
  let depth = 0;
  for (let at = from - 1; at >= 0; at--) {
    if (code[at] === close) depth++;
    else if (code[at] === open && depth-- === 0) return at;
  }
  return undefined;
}

function closing(code: string, from: number, open: string, close: string): number {
  let depth = 0;
  for (let at = from; at < code.length; at++) {
    if (code[at] === open) depth++;
    else if (code[at] === close && --depth === 0) return at;
  }
  return code.length;
}
