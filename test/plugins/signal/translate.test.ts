/** Events of the daemon become messages; the markup of the gateway becomes styles. Tables. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches } from "@svc/sdk";
import { ReceiveEvent } from "../../../plugins/signal/envelope.ts";
import { redacted, refusalOf } from "../../../plugins/signal/refusals.ts";
import { styled } from "../../../plugins/signal/styles.ts";
import { toInbound, VIEW_ONCE } from "../../../plugins/signal/translate.ts";
import { ACI, ADA, ADA_NUMBER, GROUP, LINK, OWN } from "./server.ts";

const FACTS = { account: OWN, aci: ACI, originalOf: (id: string) => (id === `6:${ADA}` ? `5:${ADA}` : id) };
const ID = `9:${ADA}`;

/** The message of an event. `source`: who sends it. */
function inbound(fields: object, source: object = { sourceNumber: ADA_NUMBER, sourceUuid: ADA, sourceName: "Ada" }) {
  const event: unknown = { account: OWN, envelope: { timestamp: 9, ...source, ...fields } };
  assert.ok(matches(ReceiveEvent, event), "the event matches its schema");
  return toInbound(event, FACTS);
}

const data = (fields: object) => inbound({ dataMessage: { timestamp: 9, message: null, viewOnce: false, ...fields } });
const group = { groupInfo: { groupId: GROUP, groupName: "Crew", revision: 1, type: "DELIVER" } };
const me = (start: number) => ({ name: "bot", number: OWN, uuid: ACI, start, length: 1 });
const bob = (start: number) => ({ name: "Bob", number: null, uuid: "b", start, length: 1 });

const DATA: Readonly<Record<string, readonly [data: object, expected: object | undefined]>> = {
  "a text": [{ message: "hello" }, { text: "hello", chat: { type: "direct", id: ADA, name: "Ada" } }],
  "a text in a group": [{ message: "x", ...group }, { chat: { type: "group", id: `group:${GROUP}`, name: "Crew" } }],
  "a leading mention": [
    { message: "\uFFFC /new", mentions: [me(0)] },
    { text: "/new", mentioned: true },
  ],
  "only a mention": [
    { message: "\uFFFC", mentions: [me(0)] },
    { text: "", mentioned: true },
  ],
  "several mentions": [
    { message: "\uFFFC ask \uFFFC, not \uFFFC", mentions: [me(0), bob(6), me(13)] },
    { text: "ask @Bob, not @bot", mentioned: true },
  ],
  "a mention of somebody else": [
    { message: "\uFFFC?", mentions: [bob(0)] },
    { text: "@Bob?", mentioned: undefined },
  ],
  "a quote of the agent": [
    {
      message: "yes",
      quote: { id: 5, author: OWN, authorNumber: OWN, authorUuid: ACI, text: "sure?", attachments: [] },
    },
    { text: "yes", replyTo: { messageId: `5:${OWN}`, text: "sure?", isOwn: true } },
  ],
  "a quote with a mention": [
    { message: "no", quote: { id: 6, authorNumber: null, authorUuid: ADA, text: "\uFFFC!", mentions: [bob(0)] } },
    { replyTo: { messageId: `5:${ADA}`, text: "@Bob!", isOwn: false } },
  ],
  "files and a voice message": [
    {
      attachments: [
        { id: "a.jpg", contentType: "image/jpeg", filename: null, size: 7, isVoiceNote: false },
        { id: "b.m4a", contentType: "audio/mp4", filename: "b", size: 8, isVoiceNote: true },
        { id: null, contentType: "text/plain" },
      ],
    },
    {
      text: "",
      media: [
        { ref: `file ${ADA} a.jpg`, kind: "image", mimeType: "image/jpeg", size: 7 },
        { ref: `file ${ADA} b.m4a`, kind: "audio", name: "b", mimeType: "audio/mp4", size: 8, isVoice: true },
      ],
    },
  ],
  "a sticker": [
    { sticker: { packId: "abc", stickerId: 3 } },
    { media: [{ ref: "sticker abc 3", kind: "image", name: "sticker.webp", mimeType: "image/webp" }] },
  ],
  "a view-once picture": [
    { viewOnce: true, attachments: [{ id: "once.jpg", contentType: "image/jpeg" }] },
    { text: VIEW_ONCE, media: undefined },
  ],
  "a reaction": [
    {
      reaction: {
        emoji: "👍",
        targetAuthorNumber: OWN,
        targetAuthorUuid: ACI,
        targetSentTimestamp: 5,
        isRemove: false,
      },
    },
    { text: "", event: { kind: "reaction", messageId: `5:${OWN}`, emoji: "👍", isOwn: true } },
  ],
  "a removed reaction": [
    { reaction: { emoji: "👍", targetAuthorUuid: ADA, targetSentTimestamp: 5, isRemove: true }, ...group },
    { event: { kind: "reaction", messageId: `5:${ADA}`, emoji: "👍", isRemoved: true, isOwn: false } },
  ],
  "a deletion": [{ remoteDelete: { timestamp: 6 } }, { text: "", event: { kind: "deletion", messageId: `5:${ADA}` } }],
  "a message that disappears": [{ message: "psst", expiresInSeconds: 60 }, { text: "psst" }],
  "a new timer": [{ expiresInSeconds: 60, isExpirationUpdate: true }, undefined],
  "a change of a group": [{ groupInfo: { ...group.groupInfo, type: "UPDATE" } }, undefined],
};

describe("an event", () => {
  for (const [name, [fields, expected]] of Object.entries(DATA))
    it(name, () => {
      const message = data(fields);
      if (!expected) return assert.equal(message, undefined);
      assert.deepEqual(
        [message?.id, message?.messageId, message?.sender, message?.at],
        [ID, ID, { id: ADA, name: "Ada" }, 9],
      );
      const found = Object.fromEntries(Object.keys(expected).map((key) => [key, Object(message)[key] as unknown]));
      assert.deepEqual(found, expected);
    });

  it("edits a message, also one that was edited before", () => {
    const edit = (target: number) => ({
      editMessage: { targetSentTimestamp: target, dataMessage: { timestamp: 9, message: "new", ...group } },
    });
    for (const target of [5, 6]) {
      const message = inbound(edit(target));
      assert.deepEqual([message?.text, message?.event], ["new", { kind: "edit", messageId: `5:${ADA}` }]);
      assert.equal(message?.chat.type, "group");
    }
  });

  const self = { sourceNumber: OWN, sourceUuid: ACI, sourceName: "Me" };
  const sync = (fields: object) => inbound({ syncMessage: { sentMessage: { timestamp: 9, ...fields } } }, self);

  it("of the note to self is a message of the owner", () => {
    const message = sync({ destination: OWN, destinationNumber: OWN, destinationUuid: ACI, message: "do it" });
    assert.deepEqual([message?.chat.id, message?.sender.id, message?.text], [OWN, OWN, "do it"]);
    const edit = { targetSentTimestamp: 5, dataMessage: { message: "done" } };
    const edited = sync({ destinationNumber: OWN, destinationUuid: ACI, editMessage: edit });
    assert.deepEqual([edited?.text, edited?.event], ["done", { kind: "edit", messageId: `5:${OWN}` }]);
  });

  it("of another kind is ignored", () => {
    assert.equal(sync({ destinationNumber: ADA_NUMBER, destinationUuid: ADA, message: "to Ada" }), undefined);
    assert.equal(sync({ destinationNumber: null, destinationUuid: null, message: "to a group", ...group }), undefined);
    assert.equal(inbound({ syncMessage: {} }, self), undefined);
    assert.equal(inbound({ dataMessage: { message: "own" } }, self), undefined);
    assert.equal(inbound({ typingMessage: { action: "STARTED" } }), undefined);
    assert.equal(inbound({ receiptMessage: { isRead: true } }), undefined);
    assert.equal(inbound({ dataMessage: { message: "from nobody" } }, {}), undefined);
    assert.equal(
      toInbound(
        { account: "+4930", envelope: { timestamp: 1, sourceUuid: ADA, dataMessage: { message: "x" } } },
        FACTS,
      ),
      undefined,
    );
  });

  it("of a person without an id names the number", () => {
    assert.equal(
      inbound({ dataMessage: { message: "x" } }, { sourceNumber: ADA_NUMBER, sourceUuid: null })?.sender.id,
      ADA_NUMBER,
    );
  });
});

const STYLES: Readonly<Record<string, readonly [html: string, text: string, ...styles: string[]]>> = {
  "no markup": ["a &lt;b&gt; &amp;amp;", "a <b> &amp;"],
  "nested styles": [
    "<b>bold <i>both</i></b> <s>no</s>",
    "bold both no",
    "5:4:ITALIC",
    "0:9:BOLD",
    "10:2:STRIKETHROUGH",
  ],
  code: [
    '<code>a</code>\n<pre><code class="language-ts">x &lt; y</code></pre>',
    "a\nx < y",
    "0:1:MONOSPACE",
    "2:5:MONOSPACE",
  ],
  "UTF-16 units": ["👍 <b>👍👍</b>", "👍 👍👍", "3:4:BOLD"],
  "an underline": ["<u>x</u>", "x"],
  links: [
    '<a href="https://a.example/?x=1&amp;y=&quot;">see</a> <a href="https://b.example">https://b.example</a>',
    'see (https://a.example/?x=1&y=") https://b.example',
  ],
  "a quotation": ["<blockquote>one\n<b>two</b></blockquote>\nthree", "> one\n> two\nthree", "8:3:BOLD"],
  "other tags": ["<em>x</em> <b>y", "<em>x</em> y"],
};

describe("markup", () => {
  for (const [name, [html, text, ...styles]] of Object.entries(STYLES))
    it(name, () => assert.deepEqual(styled(html), { text, styles }));
});

const result = (type: string, more: object = {}) => ({ response: { timestamp: 1, results: [{ type, ...more }] } });
const REFUSALS: readonly (readonly [code: number, message: string, data: unknown, expected: string, ms?: number])[] = [
  [-1, "Failed to send message", result("UNREGISTERED_FAILURE"), "INVALID_REQUEST"],
  [-1, `The user ${ADA_NUMBER} is not registered.`, null, "INVALID_REQUEST"],
  [-32602, `Specified account ${OWN} does not exist`, null, "NOT_LINKED"],
  [-4, "Failed to send message due to untrusted identities", result("IDENTITY_FAILURE"), "INVALID_REQUEST"],
  [-1, "Failed to send message", result("NETWORK_FAILURE"), "UNAVAILABLE"],
  [-5, "rate limiting", result("RATE_LIMIT_FAILURE", { retryAfterSeconds: 86_400 }), "UNAVAILABLE", 86_400_000],
  [-5, "rate limiting", null, "UNAVAILABLE", 60_000],
  [-32603, "Failed to send message: Rate limit exceeded: 429", null, "UNAVAILABLE"],
  [-3, "Connection reset", null, "UNAVAILABLE"],
  [-3, "Authorization failed", null, "NOT_LINKED"],
  [-1, "Failed: AttachmentInvalidException", null, "INVALID_REQUEST"],
  [-1, `Invalid group id: ${GROUP}, ${ADA}`, null, "INVALID_REQUEST"],
  [-1, `Unknown ${LINK}`, null, "INVALID_REQUEST"],
  [-32601, "Method not implemented", null, "INVALID_REQUEST"],
];

describe("a refusal", () => {
  for (const [code, message, details, expected, retryAfterMs] of REFUSALS)
    it(`${code} ${message}`, () => {
      const error = refusalOf({ code, message, data: details }, "send");
      assert.deepEqual([error.code, error.retryAfterMs], [expected, retryAfterMs]);
      for (const secret of [OWN, ADA, ADA_NUMBER, GROUP, "secret-link"])
        assert.ok(!error.message.includes(secret), error.message);
    });

  it("keeps harmless words", () => {
    assert.equal(redacted(`INFO ${OWN} ${ADA} ok 200\n`), "INFO [number] [id] ok 200");
  });
});
