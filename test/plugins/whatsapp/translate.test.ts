/** Incoming messages as the gateway gets them, and addresses. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { InboundMessage } from "@svc/sdk/channels";
import type { Message } from "../../../plugins/whatsapp/events.ts";
import { toInbound } from "../../../plugins/whatsapp/translate.ts";
import { ADA, NUMBER } from "./server.ts";

const people = [{ wa_id: ADA, profile: { name: "Ada" } }];
const read = (type: string, content: unknown, more: object = {}, contacts: typeof people = people) => {
  const message = { id: "wamid.1", from: ADA, timestamp: "1739321024", type, [type]: content, ...more };
  return toInbound(message as Message, contacts, NUMBER); // each case is a message of the network
};
const answer = { context: { id: "w", from: NUMBER } };
const body = { body: "a" };
const bob = { name: { formatted_name: "Bob B" }, phones: [{ phone: "+1 5" }], emails: [{ email: "b@example.com" }] };
const voice = { id: "m", mime_type: "audio/ogg; codecs=opus", voice: true };
const office = { latitude: 52.5, longitude: 13.4, name: "Office" };
const react = { kind: "reaction", messageId: "w", isOwn: true } as const;
const yes = { id: "v", title: "Yes" };
const press = { kind: "button", value: "v" } as const;
const note = (type: string) => `[a message of the type "${type}", which WhatsApp does not pass on]`;
const form = "[an answer to a form, which the agent cannot read]";
const image = { ref: "m", kind: "image" } as const;

type Case = readonly [type: string, content: unknown, expected: Partial<InboundMessage>, more?: object];

/** What differs from an empty message of Ada. */
const CASES: readonly Case[] = [
  ["text", body, { text: "a" }],
  ["image", { id: "m", mime_type: "image/png" }, { media: [{ ...image, mimeType: "image/png" }] }],
  ["image", { id: "m", caption: "look" }, { text: "look", media: [image] }],
  ["audio", voice, { media: [{ ref: "m", kind: "audio", mimeType: voice.mime_type, isVoice: true }] }],
  ["audio", { id: "m", voice: false }, { media: [{ ref: "m", kind: "audio" }] }],
  ["video", { id: "m" }, { media: [{ ref: "m", kind: "video" }] }],
  ["document", { id: "m", filename: "a.pdf" }, { media: [{ ref: "m", kind: "file", name: "a.pdf" }] }],
  ["sticker", { id: "m", animated: true }, { media: [image] }],
  ["location", { ...office, url: "x" }, { location: office }],
  ["contacts", [bob, {}], { text: "[contact: Bob B, +1 5, b@example.com]\n[contact: without a name]" }],
  ["reaction", { message_id: "w", emoji: "👍" }, { event: { ...react, emoji: "👍" } }],
  ["reaction", { message_id: "w", emoji: "" }, { event: { ...react, emoji: "(not named)", isRemoved: true } }],
  ["interactive", { button_reply: yes }, { text: "Yes", event: { ...press, messageId: "w" } }, answer],
  ["interactive", { list_reply: yes }, { text: "Yes", event: press }],
  ["interactive", { nfm_reply: {} }, { text: form }],
  ["button", { text: "Yes", payload: "v" }, { text: "Yes", event: press }],
  ["text", body, { text: "a", replyTo: { messageId: "w", isOwn: true } }, answer],
  ["text", body, { text: "a", replyTo: { messageId: "w", isOwn: false } }, { context: { id: "w", from: ADA } }],
  ["text", body, { text: "a" }, { context: { id: 1 } }],
  ["text", { body: "/new" }, { forwarded: { text: "/new" } }, { context: { forwarded: true } }],
  ["image", { id: "m" }, { forwarded: { text: "" }, media: [image] }, { context: { frequently_forwarded: true } }],
  ["revoke", { original_message_id: "w" }, { event: { kind: "deletion", messageId: "w" } }],
  [
    "edit",
    { original_message_id: "w", message: { type: "text", text: { body: "new" } } },
    { text: "new", event: { kind: "edit", messageId: "w" } },
  ],
  ["poll_creation", {}, { text: note("poll_creation") }],
  ["constructor", {}, { text: note("constructor") }],
];

it("reads every type of message", () => {
  const sender = { id: ADA, name: "Ada" };
  const chat = { type: "direct", ...sender };
  const always = { id: "wamid.1", chat, sender, mentioned: true, at: 1_739_321_024_000, text: "" };
  for (const [type, content, expected, more] of CASES)
    assert.deepEqual(read(type, content, more), { ...always, ...expected }, JSON.stringify([type, content]));
});

it("skips what is not for the agent, with a reason", () => {
  assert.equal(read("text", body, { group_id: "g" }), "it is from a group");
  assert.equal(read("text", body, { from: "not-a-number" }), "its sender is unknown");
  assert.equal(read("system", {}), "it is a notice of WhatsApp");
  for (const type of ["text", "image", "location", "contacts", "reaction", "interactive", "button", "revoke", "edit"])
    assert.equal(read(type, 7), "it is malformed");
});

it("knows a person without a visible number by the id for the business", () => {
  const hidden = { from: undefined, from_user_id: "US.1349", timestamp: "soon" };
  const eve = { wa_id: "", user_id: "US.1349", profile: { name: "Eve" } };
  const sender = { id: "US.1349", name: "Eve" };
  const expected = { id: "wamid.1", chat: { type: "direct", ...sender }, sender, mentioned: true, text: "a" };
  assert.deepEqual(read("text", body, hidden, [...people, eve]), expected);
  assert.deepEqual(Object(read("text", body, {}, [])).sender, { id: ADA });
});
