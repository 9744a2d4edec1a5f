/** Converts Markdown of agents to the markup of a network. Pure. */
import { lexer, type Token, type Tokens } from "marked";
import type { ChannelCapabilities } from "@svc/sdk/channels";

type Markup = NonNullable<ChannelCapabilities["markup"]>;

/** How a markup writes the parts of a text. `text` escapes. */
interface Writer {
  text(raw: string): string;
  bold(inner: string): string;
  italic(inner: string): string;
  struck(inner: string): string;
  code(raw: string): string;
  block(raw: string, language: string): string;
  link(inner: string, url: string): string;
  quote(inner: string): string;
}

const escaped = (raw: string) => raw.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const attribute = (raw: string) => escaped(raw).replaceAll('"', "&quot;");
const quoted = (inner: string, mark: string) =>
  inner
    .split("\n")
    .map((line) => `${mark}${line}`)
    .join("\n");
/** Only these addresses become links; any other one is written as text. */
const LINKED = /^(?:https?:\/\/|mailto:|tg:\/\/)/i;

const WRITERS: Readonly<Record<Exclude<Markup, "markdown">, Writer>> = {
  plain: {
    text: (raw) => raw,
    bold: (inner) => inner,
    italic: (inner) => inner,
    struck: (inner) => inner,
    code: (raw) => raw,
    block: (raw) => raw,
    link: (inner, url) => (inner === url || inner === "" ? url : `${inner} (${url})`),
    quote: (inner) => quoted(inner, "> "),
  },
  html: {
    text: escaped,
    bold: (inner) => `<b>${inner}</b>`,
    italic: (inner) => `<i>${inner}</i>`,
    struck: (inner) => `<s>${inner}</s>`,
    code: (raw) => `<code>${escaped(raw)}</code>`,
    block: (raw, language) =>
      language === ""
        ? `<pre>${escaped(raw)}</pre>`
        : `<pre><code class="language-${attribute(language)}">${escaped(raw)}</code></pre>`,
    link: (inner, url) => `<a href="${attribute(url)}">${inner}</a>`,
    quote: (inner) => `<blockquote>${inner}</blockquote>`,
  },
  mrkdwn: {
    text: escaped,
    bold: (inner) => `*${inner}*`,
    italic: (inner) => `_${inner}_`,
    struck: (inner) => `~${inner}~`,
    code: (raw) => `\`${escaped(raw)}\``,
    block: (raw) => `\`\`\`\n${escaped(raw)}\n\`\`\``,
    link(inner, url) {
      const address = escaped(url).replaceAll("|", "%7C");
      return inner === address || inner === "" ? `<${address}>` : `<${address}|${inner}>`;
    },
    quote: (inner) => quoted(inner, "> "),
  },
};

/** The Markdown text in the markup of a channel. */
export function rendered(markdown: string, markup: Markup = "plain"): string {
  if (markup === "markdown") return markdown;
  return blocks(lexer(markdown), WRITERS[markup]).trim();
}

function blocks(tokens: readonly Token[], writer: Writer): string {
  return tokens.map((token) => block(token, writer)).join("");
}

/** A block with the blank lines behind it. */
function block(token: Token, writer: Writer): string {
  const { raw } = token;
  const after = /\n*$/.exec(raw)?.[0] ?? "";
  switch (token.type) {
    case "space":
      return raw;
    case "heading":
      return `${writer.bold(inline(childrenOf(token), writer))}${after}`;
    case "paragraph":
    case "text":
      return `${inline(childrenOf(token), writer, token)}${after}`;
    case "code": {
      const { text, lang = "", codeBlockStyle } = token as Tokens.Code; // marked types tokens loosely
      if (codeBlockStyle === "indented" && writer === WRITERS.plain) return raw;
      return `${writer.block(text, lang.trim().split(/\s/)[0] ?? "")}${after}`;
    }
    case "blockquote":
      return `${writer.quote(blocks(childrenOf(token), writer).trim())}${after}`;
    case "list":
      return `${list(token as Tokens.List, writer)}${after}`; // marked types tokens loosely
    case "table":
      return `${writer.block(table(token as Tokens.Table, raw.length), "")}${after}`; // marked types tokens loosely
    case "hr":
      return `———${after}`;
    default:
      return writer.text(raw);
  }
}

function list({ items, ordered, start }: Tokens.List, writer: Writer): string {
  return items
    .map((item, index) => {
      const mark = ordered ? `${(start === "" ? 1 : start) + index}.` : "•";
      const done = item.task ? (item.checked ? "☑ " : "☐ ") : "";
      const inner = blocks(
        item.tokens.filter(({ type }) => type !== "checkbox"),
        writer,
      ).trim();
      return `${mark} ${done}${inner.replaceAll("\n", "\n  ")}`;
    })
    .join("\n");
}

/**
 * Columns without markup: no network has tables. They have equal widths unless that is longer than `maxChars`: texts are cut
 * to the limit of the network before they are rendered.
 */
function table({ header, rows }: Tokens.Table, maxChars: number): string {
  const lines = [header, ...rows].map((cells) => cells.map(({ tokens }) => inline(tokens, WRITERS.plain)));
  const widths = header.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const padded = lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
  return padded.length <= maxChars ? padded : lines.map((cells) => cells.join(" | ")).join("\n");
}

function inline(tokens: readonly Token[], writer: Writer, parent?: Token): string {
  if (tokens.length === 0 && parent) return writer.text(textOf(parent));
  return tokens.map((token) => span(token, writer)).join("");
}

function span(token: Token, writer: Writer): string {
  const inner = () => inline(childrenOf(token), writer, token);
  switch (token.type) {
    case "strong":
      return writer.bold(inner());
    case "em":
      return writer.italic(inner());
    case "del":
      return writer.struck(inner());
    case "codespan":
      return writer.code(textOf(token));
    case "br":
      return "\n";
    case "link":
    case "image": {
      const { href } = token as Tokens.Link | Tokens.Image; // marked types tokens loosely
      return LINKED.test(href) ? writer.link(inner(), href) : writer.text(token.raw);
    }
    case "escape":
      return writer.text(textOf(token));
    case "text":
      return inner();
    default:
      return writer.text(token.raw);
  }
}

function childrenOf(token: Token): readonly Token[] {
  return "tokens" in token && Array.isArray(token.tokens) ? token.tokens : [];
}

function textOf(token: Token): string {
  return "text" in token && typeof token.text === "string" ? token.text : token.raw;
}
