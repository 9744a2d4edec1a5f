/** Incoming messages as the gateway gets them, and addresses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { InboundMessage } from "@svc/sdk/channels";
import type { Message } from "../../../plugins/whatsapp/events.ts";
import { addressOf, toInbound } from "../../../plugins/whatsapp/translate.ts";
import { ADA, NUMBER } from "./server.ts";

const base = { id: "wamid.1", from: ADA, timestamp: "1739321024" };
const contacts = [{ wa_id: ADA, profile: { name: "Ada" } }];
const read = (fields: object, people: typeof contacts = contacts) =>
  toInbound({ ...base, type: "text", ...fields } as Message, people, NUMBER); // each case is a message of the network
const reply = { id: "wamid.0", from: NUMBER };
const file = { id: "m1", mime_type: "image/jpeg", sha256: "x" };

/** What differs from an empty text of Ada. */
const CASES: readonly (readonly [what: string, fields: object, expected: Partial<InboundMessage>])[] = [
  ["a text", { text: { body: "hello" } }, { text: "hello" }],
  ["an image", { type: "image", image: file }, { media: [{ ref: "m1", kind: "image", mimeType: "image/jpeg" }] }],
  [
    "an image with a caption",
    { type: "image", image: { ...file, caption: "look" } },
    { text: "look", media: [{ ref: "m1", kind: "image", mimeType: "image/jpeg" }] },
  ],
  [
    "a voice message",
    { type: "audio", audio: { id: "m1", mime_type: "audio/ogg; codecs=opus", voice: true } },
    { media: [{ ref: "m1", kind: "audio", mimeType: "audio/ogg; codecs=opus", isVoice: true }] },
  ],
  ["music", { type: "audio", audio: { id: "m1", voice: false } }, { media: [{ ref: "m1", kind: "audio" }] }],
  ["a video", { type: "video", video: { id: "m1" } }, { media: [{ ref: "m1", kind: "video" }] }],
  [
    "a document",
    { type: "document", document: { id: "m1", filename: "a.pdf", mime_type: "application/pdf" } },
    { media: [{ ref: "m1", kind: "file", mimeType: "application/pdf", name: "a.pdf" }] },
  ],
  ["a sticker", { type: "sticker", sticker: { id: "m1", animated: true } }, { media: [{ ref: "m1", kind: "image" }] }],
  [
    "a location",
    { type: "location", location: { latitude: 52.5, longitude: 13.4, name: "Office" } },
    { location: { latitude: 52.5, longitude: 13.4, name: "Office" } },
  ],
  [
    "contacts",
    {
      type: "contacts",
      contacts: [
        { name: { formatted_name: "Bob B" }, phones: [{ phone: "+1 555" }], emails: [{ email: "b@example.com" }] },
        {},
      ],
    },
    { text: "[contact: Bob B, +1 555, b@example.com]\n[contact: without a name]" },
  ],
  [
    "a reaction",
    { type: "reaction", reaction: { message_id: "wamid.0", emoji: "👍" } },
    { event: { kind: "reaction", messageId: "wamid.0", emoji: "👍", isOwn: true } },
  ],
  [
    "a removed reaction",
    { type: "reaction", reaction: { message_id: "wamid.0", emoji: "" } },
    { event: { kind: "reaction", messageId: "wamid.0", emoji: "(not named)", isRemoved: true, isOwn: true } },
  ],
  [
    "a pressed button",
    {
      type: "interactive",
      interactive: { type: "button_reply", button_reply: { id: "v", title: "Yes" } },
      context: reply,
    },
    { text: "Yes", event: { kind: "button", value: "v", messageId: "wamid.0" } },
  ],
  [
    "a chosen row",
    { type: "interactive", interactive: { type: "list_reply", list_reply: { id: "v", title: "Yes" } } },
    { text: "Yes", event: { kind: "button", value: "v" } },
  ],
  [
    "the button of a template",
    { type: "button", button: { text: "Yes", payload: "p" } },
    { text: "Yes", event: { kind: "button", value: "p" } },
  ],
  [
    "a form",
    { type: "interactive", interactive: { type: "nfm_reply", nfm_reply: {} } },
    { text: "[an answer to a form, which the agent cannot read]" },
  ],
  ["an answer", { text: { body: "a" }, context: reply }, { text: "a", replyTo: { messageId: "wamid.0", isOwn: true } }],
  [
    "an answer to an own message",
    { text: { body: "a" }, context: { id: "wamid.0", from: ADA } },
    { text: "a", replyTo: { messageId: "wamid.0", isOwn: false } },
  ],
  [
    "a forwarded text",
    { text: { body: "/new" }, context: { forwarded: true } },
    { text: "", forwarded: { text: "/new" } },
  ],
  [
    "a forwarded image",
    { type: "image", image: { id: "m1", caption: "c" }, context: { frequently_forwarded: true } },
    { forwarded: { text: "c" }, media: [{ ref: "m1", kind: "image" }] },
  ],
  ["a malformed context", { text: { body: "a" }, context: { id: 1 } }, { text: "a" }],
  [
    "a deletion",
    { type: "revoke", revoke: { original_message_id: "w" } },
    { event: { kind: "deletion", messageId: "w" } },
  ],
  [
    "an edit",
    { type: "edit", edit: { original_message_id: "w", message: { type: "text", text: { body: "new" } } } },
    { text: "new", event: { kind: "edit", messageId: "w" } },
  ],
  [
    "an unknown type",
    { type: "poll_creation" },
    { text: '[a message of the type "poll_creation", which WhatsApp does not pass on]' },
  ],
  [
    "a type with the name of a property of objects",
    { type: "constructor" },
    { text: '[a message of the type "constructor", which WhatsApp does not pass on]' },
  ],
];

describe("translation", () => {
  for (const [what, fields, expected] of CASES)
    it(`reads ${what}`, () => {
      const sender = { id: ADA, name: "Ada" };
      const chat = { type: "direct", ...sender };
      const always = { id: "wamid.1", chat, sender, mentioned: true, at: 1_739_321_024_000, text: "" };
      assert.deepEqual(read(fields), { ...always, ...expected });
    });

  it("skips what is not for the agent, with a reason", () => {
    assert.equal(read({ group_id: "g", text: { body: "a" } }), "it is from a group");
    assert.equal(read({ from: "not-a-number", text: { body: "a" } }), "its sender is unknown");
    assert.equal(read({ type: "system", system: {} }), "it is a notice of WhatsApp");
    for (const type of ["text", "image", "location", "contacts", "reaction", "interactive", "button", "revoke", "edit"])
      assert.equal(read({ type, [type]: 7 }), "it is malformed");
  });

  it("knows a person without a visible number by the id of the business", () => {
    const hidden = { from: undefined, from_user_id: "US.1349", text: { body: "a" }, timestamp: "soon" };
    const people = [
      { wa_id: ADA, profile: { name: "Ada" } },
      { wa_id: "", user_id: "US.1349", profile: { name: "Eve" } },
    ];
    const sender = { id: "US.1349", name: "Eve" };
    const expected = { id: "wamid.1", chat: { type: "direct", ...sender }, sender, mentioned: true, text: "a" };
    assert.deepEqual(read(hidden, people), expected);
    assert.deepEqual(Object(read({ text: { body: "a" } }, [])).sender, { id: ADA });
  });

  it("normalizes addresses", () => {
    for (const text of [
      `+${ADA}`,
      "+49 (151) 234-56.78",
      ADA,
      `user:${ADA}`,
      `whatsapp:+${ADA}`,
      `${ADA}@s.whatsapp.net`,
    ])
      assert.equal(addressOf(text), ADA, text);
    assert.equal(addressOf("US.ENT.1349a"), "US.ENT.1349a");
    for (const text of ["", "+", "0049151234567", "+0151234567", "123456", "1".repeat(16), "a@g.us", "49 151", "us.1"])
      assert.equal(addressOf(text), undefined, text);
  });
});
