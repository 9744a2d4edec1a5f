/** Text of Slack: incoming text as people read it, and the blocks of a message with buttons. Pure. */
import { split, unescaped } from "@svc/kit/channels";
import type { KnownBlock } from "@slack/web-api";
import type { MessageButton } from "@svc/sdk/channels";

/** Maximum characters of the text in one block. */
const MAX_BLOCK_CHARS = 3_000;
/** Maximum buttons in one block. */
const MAX_ROW = 25;

/** Ids of the people that a text mentions. */
export function mentionedIn(text: string): string[] {
  return [...text.matchAll(/<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>/g)].map(([, id = ""]) => id);
}

/** The text without mentions of the bot at its start. */
export function withoutLeading(text: string, botId: string): string {
  const mention = /^[\s,:]*<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>[\s,:]*/;
  for (let rest = text; ;) {
    const [first, id] = mention.exec(rest) ?? [];
    if (first === undefined || id !== botId) return rest;
    rest = rest.slice(first.length);
  }
}

/**
 * The text as people read it: mentions as names, links as `label (address)`, entities decoded.
 * @param names names of people by id
 */
export function readable(text: string, names: ReadonlyMap<string, string>): string {
  return text.replace(/<([^<>]*)>|&(?:amp|lt|gt);/g, (all, inside: string | undefined) =>
    inside === undefined ? unescaped(all) : reference(inside, names),
  );
}

function reference(inside: string, names: ReadonlyMap<string, string>): string {
  const bar = inside.indexOf("|");
  const address = unescaped(bar < 0 ? inside : inside.slice(0, bar));
  const label = bar < 0 ? "" : unescaped(inside.slice(bar + 1));
  if (address.startsWith("@")) return `@${names.get(address.slice(1)) ?? (label || address.slice(1))}`;
  if (address.startsWith("#")) return `#${label || address.slice(1)}`;
  if (address.startsWith("!")) return label || `@${address.slice(1).split("^")[0]}`; // @here, user groups, dates
  if (label === "" || label === address) return address.replace(/^mailto:/, "");
  // Slack makes a link of a bare address, whose label is then what the person wrote.
  const isBare = address.replace(/^(?:mailto:|tel:|https?:\/\/)/, "").replace(/\/$/, "") === label.replace(/\/$/, "");
  return isBare ? label : `${label} (${address})`;
}

/** The blocks of a message with buttons. Slack shows only the blocks, so that they contain the whole text. */
export function blocksOf(text: string, rows: readonly (readonly MessageButton[])[]): KnownBlock[] {
  // `verbatim`: Slack would make mentions and channel names of plain words.
  const sections = split(text, MAX_BLOCK_CHARS).map((piece): KnownBlock => ({
    type: "section",
    text: { type: "mrkdwn", text: piece, verbatim: true },
  }));
  const actions = rows
    .filter(({ length }) => length > 0)
    .map((row, y): KnownBlock => ({
      type: "actions",
      elements: row.slice(0, MAX_ROW).map(({ label, value, style }, x) => ({
        type: "button",
        action_id: `svc:${y}:${x}`,
        text: { type: "plain_text", text: label, emoji: true },
        value,
        ...(style === undefined ? {} : { style }),
      })),
    }));
  return [...sections, ...actions];
}
