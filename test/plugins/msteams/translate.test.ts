/** Pure translation: activities, mentions, addresses, settings. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { activityOf } from "../../../plugins/msteams/activity.ts";
import { accountsOf, isWithin } from "../../../plugins/msteams/config.ts";
import { addressOf, chatTypeOf, toInbound } from "../../../plugins/msteams/translate.ts";
import { ADA, APP, BOT, TOWN } from "./server.ts";

const activity = (fields: object) => ({
  type: "message",
  id: "17",
  timestamp: "2026-01-02T03:04:05Z",
  channelId: "msteams",
  serviceUrl: "https://smba.trafficmanager.net/amer/",
  from: { id: "29:ada", name: "Ada", aadObjectId: ADA },
  recipient: { id: BOT },
  conversation: { id: "a:1", conversationType: "personal" },
  text: "hi",
  ...fields,
});
const read = (fields: object) => toInbound(activityOf(activity(fields)) ?? assert.fail("malformed")).messages;
const channel = { id: `${TOWN};messageid=16`, conversationType: "channel", name: null };
const mention = { type: "mention", mentioned: { id: BOT, name: "Helper" }, text: "<at>Helper</at>" };
const at = Date.parse("2026-01-02T03:04:05Z");
const sender = { id: ADA, name: "Ada" };
const direct = { type: "direct", id: `user:${ADA}`, name: "Ada" };

describe("an activity becomes", () => {
  it("a message of a thread of a channel", () => {
    const channelData = { team: { id: "19:team@thread.tacv2" }, channel: { id: TOWN, name: "Town" }, tenant: {} };
    const text = "<at>Helper</at>&nbsp;<at>Helper</at>: /new <b> <at>Bob</at> <at>Helper</at>";
    assert.deepEqual(read({ conversation: channel, channelData, text, entities: [mention, { type: "clientInfo" }] }), [
      {
        id: `${TOWN};messageid=16 17`,
        messageId: "17",
        chat: { type: "group", id: TOWN, name: "Town", threadId: "16", teamId: "19:team@thread.tacv2" },
        sender,
        at,
        text: "/new <b> @Bob @Helper",
        mentioned: true,
      },
    ]);
  });

  it("a message of a group chat, of a person without an id of the directory", () => {
    const conversation = { id: "19:x@thread.v2", conversationType: "groupChat", isGroup: true };
    const [message] = read({ conversation, from: { id: "29:eve", aadObjectId: "not an id" }, timestamp: undefined });
    assert.deepEqual(message?.chat, { type: "group", id: "19:x@thread.v2" });
    assert.deepEqual([message?.sender, message?.at, message?.mentioned], [{ id: "29:eve" }, undefined, false]);
  });

  it("an answer to a quoted message", () => {
    const content = `<blockquote itemscope itemtype="http://schema.skype.com/Reply" itemid="15">
<strong itemprop="mri" itemid="${BOT}">Helper</strong><p itemprop="preview">1 &lt; 2<br>ok</p></blockquote><p>why?</p>`;
    const [message] = read({ text: "why?", attachments: [{ contentType: "text/html", content }] });
    assert.deepEqual(message?.replyTo, { messageId: "15", text: "1 < 2 ok", senderName: "Helper", isOwn: true });
    assert.equal(message?.text, "why?");
    const long = `<blockquote itemtype="http://schema.skype.com/Reply" ${"itemid=".repeat(20_000)}`.repeat(3);
    const before = performance.now();
    assert.equal(read({ attachments: [{ contentType: "text/html", content: long }] })[0]?.replyTo, undefined);
    assert.ok(performance.now() - before < 1_000);
  });

  const data = { svc: "button", value: "v", label: "Yes" };
  const pressed = { text: "Yes", mentioned: true, event: { kind: "button", value: "v" } };
  const active = { type: "invoke", name: "adaptiveCard/action", value: { action: { type: "Action.Execute", data } } };
  const edited = { text: "hi", mentioned: false, event: { kind: "edit", messageId: "17" } };
  const deleted = { text: "", event: { kind: "deletion", messageId: "17" } };
  const cases: [what: string, fields: object, id: string, rest: object][] = [
    ["an edit", { type: "messageUpdate" }, "edit", edited],
    ["a deletion", { type: "messageDelete" }, "messageDelete", deleted],
    ["a pressed button", { text: undefined, value: data }, "message", pressed],
    ["a button that was pressed on an active card", active, "invoke", pressed],
  ];
  for (const [what, fields, kind, rest] of cases)
    it(what, () => {
      const [message, ...others] = read(fields);
      assert.ok(message?.id?.startsWith(`a:1 17 ${kind}`), message?.id);
      assert.deepEqual({ ...message, id: 0 }, { id: 0, messageId: "17", chat: direct, sender, at, ...rest });
      assert.equal(others.length, 0);
    });

  it("one event for each reaction", () => {
    const reactionsAdded = ["like", "1f389_partypopper", "constructor"].map((type) => ({ type }));
    const messages = read({
      type: "messageReaction",
      replyToId: "15",
      reactionsAdded,
      reactionsRemoved: [{ type: "sad" }],
    });
    const event = { kind: "reaction", messageId: "15", isOwn: true, emoji: "👍", isRemoved: false };
    assert.deepEqual(messages[0]?.event, event);
    assert.deepEqual(messages[3]?.event, { ...event, emoji: "😢", isRemoved: true });
    const emoji = messages.map((message) => message.event?.kind === "reaction" && message.event.emoji);
    assert.equal(emoji.join(" "), "👍 🎉 :constructor: 😢");
    assert.equal(new Set(messages.map((message) => message.id)).size, 4);
  });

  const ignored: [what: string, fields: object][] = [
    ["the bot's own message", { from: { id: BOT } }],
    ["a message without id", { id: undefined }],
    ["a reaction to nothing", { type: "messageReaction", reactionsAdded: [{ type: "like" }] }],
    ["another invoke", { type: "invoke", name: "signin/verifyState", value: { state: "1" } }],
  ];
  for (const [what, fields] of ignored) it(`nothing: ${what}`, () => assert.deepEqual(read(fields), []));
});

it("an address is a person or a conversation", () => {
  const cases: [text: string, address: string | undefined, type?: string][] = [
    [ADA.toUpperCase(), `user:${ADA}`, "direct"],
    [` user:${ADA} `, `user:${ADA}`, "direct"],
    ["user:29:1a-B_cdefgh", "user:29:1a-B_cdefgh", "direct"],
    [`conversation:${TOWN}`, TOWN, "group"],
    ["19:x_y@unq.gbl.spaces", "19:x_y@unq.gbl.spaces", "direct"],
    ["a:1-_x", "a:1-_x", "direct"],
    [`user:${TOWN}`, undefined],
    [`${TOWN};messageid=1`, undefined],
    ["19:x@a/../b", undefined],
  ];
  for (const [text, address, type] of cases) {
    assert.equal(addressOf(text), address, text);
    if (address !== undefined) assert.equal(chatTypeOf(address), type, text);
  }
});

it("an address is within a base by scheme, host, port and path", () => {
  const cases: [address: string, base: string, is: boolean][] = [
    ["https://smba.trafficmanager.net/amer/", "https://smba.trafficmanager.net", true],
    ["https://smba.trafficmanager.net/amer", "https://smba.trafficmanager.net/amer/", true],
    ["https://smba.trafficmanager.net/amer2", "https://smba.trafficmanager.net/amer", false],
    ["https://smba.trafficmanager.net.evil.example/", "https://smba.trafficmanager.net", false],
    ["https://smba.trafficmanager.net@evil.example/", "https://smba.trafficmanager.net", false],
    ["https://user@smba.trafficmanager.net/", "https://smba.trafficmanager.net", false],
    ["http://smba.trafficmanager.net/", "https://smba.trafficmanager.net", false],
    ["https://contoso-my.sharepoint.com/x", "https://*.sharepoint.com", true],
    ["https://sharepoint.com/x", "https://*.sharepoint.com", false],
    ["https://evilsharepoint.com/x", "https://*.sharepoint.com", false],
  ];
  for (const [address, base, is] of cases) assert.equal(isWithin(address, [base]), is, `${address} in ${base}`);
});

it("accounts override the section, and have public defaults", () => {
  const accounts = accountsOf({
    appId: APP.toUpperCase(),
    tenantId: "t",
    accounts: { work: { appPassword: "p", pingMs: 50 }, idle: {} },
  });
  const [work, idle] = accounts;
  assert.deepEqual([accounts.length, work?.configured, idle?.configured], [2, true, false]);
  const { appId, pingMs, serviceUrls } = work?.settings ?? assert.fail();
  assert.deepEqual([appId, pingMs, serviceUrls], [APP, 50, ["https://smba.trafficmanager.net"]]);
});
