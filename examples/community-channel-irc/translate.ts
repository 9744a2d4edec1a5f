/** Translation between IRC lines and messages. Pure. */
import type { InboundMessage } from "@svc/sdk/channels";
import type { PrivateMessage } from "irc-framework";
import { fold, isChannel, personId } from "./names.ts";

/** Maximum bytes of text in one line: 512, minus the longest prefix, command and target a server may add. */
export const LINE_BYTES = 350;

/** Color codes with their numbers, bold and the like. */
const FORMATTING =
  // oxlint-disable-next-line no-control-regex -- it matches control characters
  /\u0003(?:\d{1,2}(?:,\d{1,2})?)?|\u0004(?:[0-9a-fA-F]{6}(?:,[0-9a-fA-F]{6})?)?|[\u0002\u000f\u0011\u0016\u001d\u001e\u001f]/g;

/** Converts a line to a message for the gateway. @param nick current nick of the agent. @returns `undefined`: the line is ignored */
export function toInbound(event: PrivateMessage, nick: string): InboundMessage | undefined {
  const {
    from_server: fromServer,
    nick: from = "",
    ident = "",
    hostname = "",
    target,
    message,
    account,
    tags = {},
    batch,
    time,
  } = event;
  if (fromServer || from === "" || fold(from) === fold(nick)) return undefined;
  if (batch?.type === "chathistory") return undefined; // sent before the agent joined
  const plain = message.replace(FORMATTING, "");
  if (plain.includes("\u0001")) return undefined; // CTCP
  const sender = { id: personId({ nick: from, ident, hostname, account }), name: from };
  const id = tags["msgid"];
  const common = { ...(id ? { id } : {}), ...(time === undefined ? {} : { at: time }), sender };
  if (!isChannel(target)) return { ...common, chat: { type: "direct", id: fold(from), name: from }, text: plain };
  const { isMentioned, text } = addressed(plain, nick);
  return { ...common, chat: { type: "group", id: fold(target), name: target }, text, mentioned: isMentioned };
}

/** `bot: text` and `text, bot?` both address `bot`; a leading name is removed. */
function addressed(text: string, nick: string): { readonly isMentioned: boolean; readonly text: string } {
  const name = nick.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  const first = new RegExp(String.raw`^\s*@?${name}(?:[:,]\s*|\s+|$)`, "i");
  if (first.test(text)) return { isMentioned: true, text: text.replace(first, "") };
  const word = "A-Za-z0-9_\\[\\]\\\\`^{|}-";
  return { isMentioned: new RegExp(`(?<![${word}])${name}(?![${word}])`, "i").test(text), text };
}

/**
 * Lines to send: without line breaks and control characters (text after one would become a command), at most `maxBytes`
 * bytes of UTF-8 each, split at blanks if possible and never inside a character.
 */
export function toLines(text: string, maxBytes: number = LINE_BYTES): readonly string[] {
  return text
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    .map((line) =>
      line
        .replace(/\t/g, "  ")
        .replace(/\p{Cc}/gu, "")
        .trimEnd(),
    )
    .filter((line) => line.trim() !== "")
    .flatMap((line) => cut(line, maxBytes));
}

const characters = new Intl.Segmenter(undefined, { granularity: "grapheme" });

function cut(line: string, maxBytes: number): string[] {
  const pieces: string[] = [];
  let [piece, bytes] = ["", 0];
  const close = (rest: string) => {
    if (piece.trim() !== "") pieces.push(piece.trimEnd());
    [piece, bytes] = [rest, Buffer.byteLength(rest)];
  };
  for (const unit of units(line, maxBytes)) {
    const size = Buffer.byteLength(unit);
    if (bytes + size > maxBytes) {
      const blank = piece.lastIndexOf(" ");
      if (blank > piece.length / 2) {
        const rest = piece.slice(blank + 1);
        piece = piece.slice(0, blank);
        close(rest);
      } else close("");
    }
    piece += unit;
    bytes += size;
  }
  close("");
  return pieces;
}

/** Grapheme clusters; one that is longer than a line is split into code points. */
function* units(line: string, maxBytes: number): Generator<string> {
  for (const { segment } of characters.segment(line)) {
    if (Buffer.byteLength(segment) <= maxBytes) yield segment;
    else yield* segment;
  }
}

/** A server's refusal of a sent message: its target and reason. */
export function refusalIn(line: string): { readonly target: string; readonly reason: string } | undefined {
  const [, target, reason] =
    /^(?:@\S+ )?:\S+ (?:40[1-8]|415|442|477|489|531|716) \S+ (\S+) :?(.*)$/.exec(line.trimEnd()) ?? [];
  return target === undefined ? undefined : { target: fold(target), reason: reason ?? "" };
}
