/** Converts the markup of the gateway to the text of Signal and ranges with styles. Pure. */
import { unescaped } from "@svc/kit/channels";

const MONOSPACE = "MONOSPACE";
const STYLES: Readonly<Record<string, string>> = {
  b: "BOLD",
  i: "ITALIC",
  s: "STRIKETHROUGH",
  code: MONOSPACE,
  pre: MONOSPACE,
};
const TAG = /<(\/?)(b|i|s|u|code|pre|a|blockquote)(?: (?:href|class)="([^"]*)")?>/g;

/** A plain text, and `start:length:STYLE` in UTF-16 units. */
export interface Styled {
  readonly text: string;
  readonly styles: readonly string[];
}

/** @param html the markup `html` of a channel. A link becomes `text (address)`, a quotation gets `> ` before each line. */
export function styled(html: string): Styled {
  const open: { readonly name: string; readonly start: number; readonly href: string }[] = [];
  const styles: string[] = [];
  let text = "";
  let quotes = 0;
  let at = 0;
  const add = (escaped: string) => {
    const mark = "> ".repeat(quotes);
    text += unescaped(escaped).replaceAll("\n", `\n${mark}`);
  };
  for (const { 0: tag, 1: slash, 2: name = "", 3: href = "", index } of html.matchAll(TAG)) {
    add(html.slice(at, index));
    at = index + tag.length;
    if (slash === "") {
      open.push({ name, start: text.length, href: unescaped(href) });
      if (name === "blockquote") {
        quotes += 1;
        text += "> ";
      }
      continue;
    }
    const last = open.pop();
    if (last?.name !== name) continue; // the gateway closes every tag in order
    if (name === "blockquote") quotes -= 1;
    const inner = text.slice(last.start);
    if (name === "a" && inner !== last.href) text += inner === "" ? last.href : ` (${last.href})`;
    const style = STYLES[name];
    const isInside = open.some((outer) => STYLES[outer.name] === style); // <pre><code>
    if (style !== undefined && inner !== "" && !isInside) styles.push(`${last.start}:${inner.length}:${style}`);
  }
  add(html.slice(at));
  return { text, styles };
}
