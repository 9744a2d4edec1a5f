/** Messages of BlueBubbles and imsg as incoming messages; addresses; tapbacks. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { tapbackNamed, tapbackOf } from "../../../plugins/imessage/tapbacks.ts";
import { addressOf, fromBlueBubbles, fromImsg, toInbound } from "../../../plugins/imessage/translate.ts";
import { ANN, DIRECT, GROUP } from "./server.ts";

const AT = 1_700_000_000_000;
const base = {
  guid: "G1",
  originalROWID: 7,
  isFromMe: false,
  chats: [{ guid: DIRECT, style: 45, displayName: "" }],
  handle: { address: ANN },
  text: "hello",
  dateCreated: AT,
};
const inbound = (more: object, isKnown = false) => {
  const received = fromBlueBubbles({ ...base, ...more });
  return received && toInbound(received, isKnown);
};
const direct = { type: "direct", id: ANN };
const plain = { id: "G1", messageId: "G1", chat: direct, sender: { id: ANN }, text: "hello", at: AT };

describe("messages of iMessage", () => {
  it("of BlueBubbles", () => {
    const file = { guid: "F1", transferName: "a.jpg", mimeType: "image/jpeg", totalBytes: 9 };
    const group = { guid: GROUP, style: 43, displayName: "Family" };
    const media = [{ ref: "F1", kind: "image", name: "a.jpg", mimeType: "image/jpeg", size: 9 }];
    const tapback = (type: unknown, emoji?: string) => ({
      associatedMessageGuid: "p:0/G0",
      associatedMessageType: type,
      associatedMessageEmoji: emoji,
    });
    const reaction = (emoji: string, isRemoved: boolean) => ({
      ...plain,
      messageId: "G0",
      text: "",
      event: { kind: "reaction", messageId: "G0", emoji, isRemoved, isOwn: false },
    });
    const cases: readonly [what: string, more: object, wanted: object, isKnown?: boolean][] = [
      ["a text", {}, plain],
      [
        "an address in capitals",
        { handle: { address: "Ann@X.org" } },
        { ...plain, chat: { ...direct, id: "ann@x.org" }, sender: { id: "ann@x.org" } },
      ],
      ["a group", { chats: [group] }, { ...plain, chat: { type: "group", id: `chat:${GROUP}`, name: "Family" } }],
      ["a file", { text: "\uFFFC", attachments: [file] }, { ...plain, text: "", media }],
      ["a hidden file", { attachments: [{ ...file, hideAttachment: true }] }, plain],
      [
        "speech",
        { attachments: [{ guid: "F1", mimeType: "audio/x-caf" }], isAudioMessage: true },
        { ...plain, media: [{ ref: "F1", kind: "audio", mimeType: "audio/x-caf", isVoice: true }] },
      ],
      ["an answer", { threadOriginatorGuid: "G0" }, { ...plain, replyTo: { messageId: "G0", isOwn: false } }],
      [
        "an edit",
        { dateEdited: AT + 5 },
        { ...plain, id: `G1:edit:${AT + 5}`, at: AT + 5, event: { kind: "edit", messageId: "G1" } },
        true,
      ],
      ["a new message that was edited", { dateEdited: AT + 5 }, plain],
      [
        "a deletion",
        { dateRetracted: AT + 5, attachments: [file] },
        { ...plain, id: "G1:deleted", text: "", event: { kind: "deletion", messageId: "G1" } },
        true,
      ],
      ["a tapback", tapback("love"), reaction("❤", false)],
      ["a removed tapback", tapback("-laugh"), reaction("😂", true)],
      ["a tapback by number", tapback(2001), reaction("👍", false)],
      ["a removed one by number", tapback(3005), reaction("❓", true)],
      ["an emoji", tapback("2006", "🦊"), reaction("🦊", false)],
    ];
    for (const [what, more, wanted, isKnown] of cases) assert.deepEqual(inbound(more, isKnown), wanted, what);
  });

  it("that nobody else wrote", () => {
    const sticker = { associatedMessageGuid: "G0", associatedMessageType: "sticker" };
    const unknown = { associatedMessageGuid: "G0", associatedMessageType: "2006" };
    const cases = [{ isFromMe: true }, { itemType: 2 }, { handle: null }, { chats: [] }, sticker, unknown];
    for (const more of cases) assert.equal(fromBlueBubbles({ ...base, ...more })?.isOwn, true, JSON.stringify(more));
  });

  it("that are malformed", () => {
    const cases = [
      { guid: "" },
      { guid: 1 },
      { originalROWID: "7" },
      { chats: undefined },
      { handle: { address: 5 } },
      { attachments: [{}] },
    ];
    for (const more of cases) assert.equal(fromBlueBubbles({ ...base, ...more }), undefined, JSON.stringify(more));
    for (const raw of [undefined, null, "text", [], {}]) {
      assert.equal(fromBlueBubbles(raw), undefined);
      assert.equal(fromImsg(raw), undefined);
    }
  });

  it("of imsg", () => {
    const row = {
      id: 7,
      cursor: 9,
      guid: "G1",
      chat_id: 1,
      chat_guid: DIRECT,
      is_group: false,
      sender: ANN,
      sender_name: "Ann",
      is_from_me: false,
      text: "hello",
      created_at: new Date(AT).toISOString(),
      attachments: [{ path: "/Users/me/a.jpg", transfer_name: "a.jpg", mime_type: "image/jpeg", byte_size: 9 }],
      reply_to_guid: "G0",
    };
    const received = fromImsg(row);
    assert.equal(received?.cursor, 9);
    const replyTo = { messageId: "G0", isOwn: false };
    const media = [{ ref: "/Users/me/a.jpg", kind: "image", name: "a.jpg", mimeType: "image/jpeg", size: 9 }];
    const named = { chat: { ...direct, name: "Ann" }, sender: { id: ANN, name: "Ann" } };
    assert.deepEqual(toInbound(received, false), { ...plain, ...named, media, replyTo });
    const missing = fromImsg({ ...row, attachments: [{ path: "", missing: true }], is_group: true });
    assert.equal(missing?.message.media, undefined);
    assert.equal(missing?.message.chat.type, "group");
    const reaction = { is_reaction: true, reaction_type: "emphasis", is_reaction_add: false, reacted_to_guid: "G0" };
    const tapback = { kind: "reaction", messageId: "G0", emoji: "‼", isRemoved: true };
    assert.deepEqual(fromImsg({ ...row, ...reaction })?.message.event, tapback);
  });

  it("addresses, as people write them", () => {
    const cases: Readonly<Record<string, string | undefined>> = {
      "+49 (170) 123-45": "+4917012345",
      "imessage:Ann@Example.com": "ann@example.com",
      "user:+15550001111": ANN,
      "tel:+15550001111": ANN,
      [DIRECT]: ANN,
      [`chat_guid:${GROUP}`]: `chat:${GROUP}`,
      [GROUP]: `chat:${GROUP}`,
      "chat:+15550001111": undefined,
      ann: undefined,
      "+1": undefined,
    };
    for (const [text, wanted] of Object.entries(cases)) assert.equal(addressOf(text), wanted, text);
  });

  it("tapbacks for emoji", () => {
    const cases = {
      "❤️": "love",
      "👍🏽": "like",
      "🤣": "laugh",
      "‼️": "emphasize",
      "🤔": "question",
      "❌": "dislike",
      "🦊": undefined,
    };
    for (const [emoji, name] of Object.entries(cases)) assert.equal(tapbackOf(emoji), name, emoji);
    assert.equal(tapbackNamed("1000"), undefined);
  });
});
