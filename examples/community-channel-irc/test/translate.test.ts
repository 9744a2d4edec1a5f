/** Translation of lines, without a network: `npm test`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { PrivateMessage } from "irc-framework";
import { accountOf, type IrcConfig } from "../config.ts";
import { channelName, fold, nickName, personId } from "../names.ts";
import { Pace } from "../pace.ts";
import { LINE_BYTES, refusalIn, toInbound, toLines } from "../translate.ts";

const said = (more: Partial<PrivateMessage> = {}): PrivateMessage => ({
  from_server: false,
  nick: "Ann",
  ident: "~ann",
  hostname: "Host.Example",
  target: "bot",
  message: "hello",
  ...more,
});

describe("a message that comes in", () => {
  it("is direct, from the sender reported by the server", () => {
    assert.deepEqual(toInbound(said(), "bot"), {
      chat: { type: "direct", id: "ann", name: "Ann" },
      sender: { id: "ann!~ann@host.example", name: "Ann" },
      text: "hello",
    });
    assert.deepEqual(toInbound(said({ account: "Ann-A", time: 5, tags: { msgid: "m1" } }), "bot"), {
      id: "m1",
      at: 5,
      chat: { type: "direct", id: "ann", name: "Ann" },
      sender: { id: "account:ann-a", name: "Ann" },
      text: "hello",
    });
  });

  const mentions: [message: string, isMentioned: boolean, text: string][] = [
    ["bot: do it", true, "do it"],
    ["BOT, do it", true, "do it"],
    ["@bot do it", true, "do it"],
    ["bot", true, ""],
    ["what says bot?", true, "what says bot?"],
    ["robots and bot-net", false, "robots and bot-net"],
    ["botany: no", false, "botany: no"],
    ["hello", false, "hello"],
  ];
  for (const [message, isMentioned, text] of mentions) {
    it(`in a channel: ${message}`, () => {
      const inbound = toInbound(said({ target: "#Team[1]", message }), "bot");
      assert.deepEqual([inbound?.chat.id, inbound?.mentioned, inbound?.text], ["#team{1}", isMentioned, text]);
    });
  }

  it("recognizes a nick with special characters", () => {
    assert.equal(toInbound(said({ target: "#x", message: "b|ot[1]: hi" }), "b|ot[1]")?.text, "hi");
  });

  it("has no colors, and is ignored if it is CTCP, an echo or old", () => {
    assert.equal(
      toInbound(said({ message: "\u0002bold\u0002 \u000304,12red\u000f \u0004ff0000x" }), "bot")?.text,
      "bold red x",
    );
    for (const nothing of [
      said({ message: "\u0001DCC SEND x\u0001" }),
      said({ message: "\u0001PING" }),
      said({ nick: "BOT" }),
      said({ from_server: true }),
      said({ batch: { type: "chathistory" } }),
    ])
      assert.equal(toInbound(nothing, "bot"), undefined);
  });
});

describe("the id of a sender", () => {
  const who = { nick: "Ann", ident: "a", hostname: "h" };
  it("is the services account, else nick, user and host; the two never collide", () => {
    assert.equal(personId({ ...who, account: "A" }), "account:a");
    assert.equal(personId({ ...who, account: "*" }), "ann!a@h");
    assert.equal(personId({ ...who, account: "x!y@z" }), "ann!a@h");
    assert.equal(personId({ ...who, nick: "account:b" }), "account:b!a@h");
  });

  it("is folded like on the network", () => {
    assert.equal(fold("A[b]\\~Z"), "a{b}|^z");
    assert.deepEqual(
      [channelName("#A"), channelName("#a b"), channelName("a"), nickName("A[1]"), nickName("1a"), nickName("a b")],
      ["#a", undefined, undefined, "a{1}", undefined, undefined],
    );
  });
});

describe("outgoing lines", () => {
  it("never become commands", () => {
    assert.deepEqual(toLines("one\r\nQUIT :x\nJOIN #y\rNICK z\u2028k\u0085l"), [
      "one",
      "QUIT :x",
      "JOIN #y",
      "NICK z",
      "k",
      "l",
    ]);
    assert.deepEqual(toLines("a\u0000b\u0001ACTION c\u0001\u0007\td"), ["abACTION c  d"]);
    assert.deepEqual(toLines(" \n\n\t\n"), []);
  });

  it("fit by bytes, and lose nothing", () => {
    for (const text of [
      "word ".repeat(300),
      "漢".repeat(500),
      "👩‍💻".repeat(60),
      "x".repeat(1_000),
      `${"é".repeat(170)} ${"ü".repeat(200)}`,
    ]) {
      const lines = toLines(text);
      assert.ok(lines.length > 1);
      for (const line of lines) {
        assert.ok(Buffer.byteLength(line) <= LINE_BYTES, String(Buffer.byteLength(line)));
        assert.doesNotMatch(line, /\p{Cs}|\ufffd/u);
      }
      assert.equal(lines.join("").replaceAll(" ", ""), text.replaceAll(" ", ""));
    }
    assert.ok(toLines("👩‍💻".repeat(60)).every((line) => line.endsWith("💻")));
    assert.deepEqual(toLines("e\u0301".repeat(4), 4), ["e\u0301", "e\u0301", "e\u0301", "e\u0301"]);
    assert.ok(toLines(`e${"\u0301".repeat(300)}`, 20).every((line) => Buffer.byteLength(line) <= 20));
  });

  it("have their refusals by the server recognized", () => {
    assert.deepEqual(refusalIn(":irc.example 401 bot Nobody :No such nick or channel name\r"), {
      target: "nobody",
      reason: "No such nick or channel name",
    });
    assert.deepEqual(refusalIn(":irc.example 404 bot #Team :Cannot send to channel"), {
      target: "#team",
      reason: "Cannot send to channel",
    });
    assert.equal(refusalIn(":irc.example 001 bot :Welcome"), undefined);
    assert.equal(refusalIn(":ann!a@h PRIVMSG bot :401 bot x :y"), undefined);
  });
});

describe("the pacing", () => {
  it("lets a burst pass, then one line per interval", async () => {
    let now = 0;
    const waits: number[] = [];
    const pace = new Pace({
      burst: 3,
      intervalMs: 100,
      clock: {
        elapsed: () => now,
        setTimeout(callback, ms) {
          waits.push(ms);
          now += ms;
          queueMicrotask(callback);
          return () => undefined;
        },
      },
    });
    const { signal } = new AbortController();
    for (let line = 0; line < 5; line++) await pace.turn(signal);
    assert.deepEqual(waits, [100, 100]);
    now += 1_000;
    for (let line = 0; line < 3; line++) await pace.turn(signal);
    assert.deepEqual(waits, [100, 100]);
    await assert.rejects(pace.turn(AbortSignal.abort(new Error("stopped"))), /stopped/);
  });
});

describe("the configuration", () => {
  const config: IrcConfig = {
    enabled: true,
    host: "irc.example",
    tls: true,
    tlsVerify: true,
    nick: "bot",
    channels: ["#Team", "#secret key"],
    allowFrom: [" account:Ann ", "Bob!~b@Host", "*"],
    requireMention: true,
    burstLines: 5,
    lineIntervalMs: 2_000,
  };

  it("defines whom the agent listens to, and where", () => {
    const { allowFrom, groups, settings, configured, name } = accountOf(config);
    assert.deepEqual(allowFrom, ["account:ann", "bob!~b@host", "*"]);
    assert.deepEqual(groups, ["#team", "#secret"]);
    assert.deepEqual(settings.channels, [{ name: "#team" }, { name: "#secret", key: "key" }]);
    assert.deepEqual([settings.port, configured, name], [6_697, true, "bot on irc.example"]);
    const { host: _host, ...bare } = config;
    assert.equal(accountOf(bare).configured, false);
    assert.equal(accountOf({ ...config, tls: false }).settings.port, 6_667);
  });

  const wrong: [why: string, more: Partial<IrcConfig>, message: RegExp][] = [
    ["a nickname", { allowFrom: ["ann"] }, /"ann" does not identify a person/],
    ["a pattern", { allowFrom: ["*!*@*"] }, /does not identify a person/],
    ["no channel", { channels: ["team"] }, /"team" is not a channel/],
    ["a line break", { realname: "x\r\nQUIT" }, /line break/],
  ];
  for (const [why, more, message] of wrong)
    it(`refuses ${why}`, () =>
      assert.throws(() => accountOf({ ...config, ...more }), { name: "SetupOutcome", message }));
});
