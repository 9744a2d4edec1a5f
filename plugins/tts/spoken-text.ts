/** The words of a Markdown text for listeners: without markup, code, pictures and long addresses. Pure. Loaded on first use. */
import { marked, type Token, type Tokens } from "marked";

/** Emoji and the signs that join them: engines read their names out. */
const EMOJI =
  /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{200d}|\u{fe0e}|\u{fe0f}|\u{20e3}/gu;

/** The text to speak; empty if there is nothing to say. */
export function spokenText(markdown: string): string {
  const blocks = marked.lexer(markdown, { gfm: true }).map(blockWords);
  return tidy(blocks.filter((words) => words !== "").join("\n\n"));
}

function blockWords(token: Token): string {
  switch (token.type) {
    case "list":
      return (token as Tokens.List).items.map((item) => sentence(words(item.tokens))).join("\n");
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].map((row) => sentence(row.map(({ tokens }) => words(tokens)).join(", "))).join("\n");
    }
    case "heading":
      return sentence(words(token.tokens));
    default:
      return inlineWords(token);
  }
}

function words(tokens: readonly Token[] = []): string {
  return tokens.map(inlineWords).join("");
}

function inlineWords(token: Token): string {
  switch (token.type) {
    case "link": {
      const { href, text } = token as Tokens.Link;
      return isAddress(text) ? hostOf(href) : words(token.tokens);
    }
    case "image":
      return (token as Tokens.Image).text;
    case "br":
      return "\n";
    case "codespan":
    case "escape":
      return (token as Tokens.Codespan).text;
    case "code":
    case "html":
    case "hr":
    case "space":
    case "def":
    case "checkbox":
      return "";
    case "list":
    case "table":
    case "heading":
      return blockWords(token);
    default: {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? words(tokens) : text;
    }
  }
}

function isAddress(text: string): boolean {
  return /^(?:https?:\/\/|www\.)\S+$/i.test(text);
}

/** `https://www.example.org/a/b?c` -> `example.org`. */
function hostOf(href: string): string {
  return URL.canParse(href) ? new URL(href).hostname.replace(/^www\./, "") : "";
}

/** Ends with a stop, so that a pause follows. */
function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?:;…]$/u.test(trimmed) ? trimmed : `${trimmed}.`;
}

function tidy(text: string): string {
  const plain = text.replaceAll(EMOJI, "").replaceAll(/[ \t]+/g, " ");
  return plain
    .replaceAll(/ ?\n ?/g, "\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}
