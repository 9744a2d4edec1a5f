/** Messages through a program that speaks the protocol of imsg. */
// own process: the tests start programs
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";
import { fakeImsg } from "./imsg-program.ts";
import { channelOf, rejects, sceneOf } from "./scene.ts";
import { GROUP } from "./server.ts";

const PHOTO = { kind: "image", bytes: Buffer.from("bytes"), name: "a.png", mimeType: "image/png" } as const;

async function openImsg(t: TestContext) {
  const place = directory(t);
  const imsg = fakeImsg(place);
  const channel = await channelOf(t, { command: [imsg.command], pollMs: 100 });
  return { imsg, place, channel, ...sceneOf(channel) };
}

describe("the plugin imessage with imsg", { timeout: 120_000 }, () => {
  it("receives what is new, continues after the last message, and ends the program with the run", async (t) => {
    const { imsg, place, start } = await openImsg(t);
    imsg.says("too old");
    const first = start(t);
    await first.reported("connected");
    await until(() => imsg.calls("watch.subscribe").length === 1, "the subscription");
    const variables = JSON.parse(readFileSync(join(place, "variables.json"), "utf8")) as string[];
    const foreign = variables.filter((name) => !/^(?:PATH|HOME|USER|LOGNAME|LANG|TMPDIR|SSH_AUTH_SOCK)$/.test(name));
    assert.deepEqual(foreign, [], "the environment of the gateway contains secrets");
    imsg.prints("this is not JSON");
    imsg.prints('{"jsonrpc":"2.0","method":"message","params":{"message":{"id":"x"}}}');
    imsg.says("one", { cursor: 5 });
    await first.received(1);
    const proofs = first.proofs();
    await until(() => first.proofs() > proofs, "a proof", 5_000);
    await first.stop();
    assert.equal(imsg.isRunning(), false);
    const second = start(t);
    await until(() => imsg.calls("watch.subscribe").length === 2, "the second subscription");
    await second.stop();
    const subscriptions = imsg.calls("watch.subscribe").map(({ params }) => params["since_rowid"]);
    assert.deepEqual(subscriptions, [1, 5]);
  });

  it("is run again when the program or its subscription ends", async (t) => {
    const { imsg, start } = await openImsg(t);
    const killed = start(t);
    await killed.reported("connected");
    await until(() => killed.proofs() > 0, "the subscription");
    imsg.kill();
    await rejects(killed.failed(), "UNAVAILABLE", /^imsg: ended by SIGKILL/);
    for (const method of ["watch.overflow", "error"]) {
      const run = start(t);
      await until(() => run.proofs() > 0, "the subscription");
      imsg.prints(JSON.stringify({ jsonrpc: "2.0", method, params: {} }));
      await rejects(run.failed(), "UNAVAILABLE", new RegExp(`stopped watching: ${method}`));
    }
    const run = start(t);
    await until(() => run.proofs() > 0, "the subscription");
    imsg.prints("@11000000");
    await rejects(run.failed(), "UNAVAILABLE", /more than 10 MB/);
  });

  it("needs a new login when the program is missing or must not read the messages", async (t) => {
    const { imsg, start } = await openImsg(t);
    imsg.refuses({ "chats.list": { code: -32002, message: "Database unavailable" } });
    await rejects(start(t).failed(), "NOT_LINKED", /Database unavailable; next: allow Full Disk Access/);
    imsg.dies("unable to open database file", 1);
    await rejects(start(t).failed(), "NOT_LINKED", /unable to open database file; next: allow Full Disk Access/);
    imsg.dies("zsh: command not found: imsg", 127);
    await rejects(start(t).failed(), "NOT_LINKED", /command not found: imsg; next: install it on the Mac/);
    imsg.dies("Connection refused", 255);
    await rejects(start(t).failed(), "UNAVAILABLE", /Connection refused/);
    const missing = await channelOf(t, { command: "no-such-imsg rpc" });
    await rejects(sceneOf(missing).start(t).failed(), "NOT_LINKED", /no program no-such-imsg/);
  });

  it("sends texts and files while it runs, and says what a repetition would do", async (t) => {
    const { imsg, start, send } = await openImsg(t);
    await rejects(send({ text: "x" }), "UNAVAILABLE", /not running/);
    const run = start(t);
    await run.reported("connected");
    assert.match((await send({ text: "one" })).messageId ?? "", /^SENT-/);
    await send({ text: "two", to: `chat:${GROUP}` });
    await send({ media: PHOTO });
    const [one, two, file] = imsg.calls("send");
    assert.deepEqual(one?.params, { to: "+15550001111", service: "auto", text: "one" });
    assert.deepEqual(two?.params, { chat_guid: GROUP, text: "two" });
    assert.equal(file?.content, "bytes");
    const cases: readonly [error: object, code: string, message: RegExp][] = [
      [{ code: -32602, message: "unknown chat" }, "INVALID_REQUEST", /unknown chat/],
      [{ code: -32603, message: "failed", data: "Messages is busy" }, "UNAVAILABLE", /failed: Messages is busy/],
      [{ code: -32001, message: "unclear", data: { retry_safe: false } }, "INVALID_REQUEST", /may have been sent/],
      [
        { code: -32001, message: "unclear", data: { retry_safe: true, detail: "not begun" } },
        "UNAVAILABLE",
        /not begun/,
      ],
    ];
    for (const [error, code, message] of cases) {
      imsg.refuses({ send: error });
      await rejects(send({ text: "x" }), code, message);
    }
    imsg.refuses({ send: "silent" });
    const stopping = new AbortController();
    const sending = send({ text: "x", signal: stopping.signal });
    stopping.abort(new Error("cancelled"));
    await assert.rejects(sending, /cancelled/);
    imsg.refuses({ send: { code: -32004, message: "lane blocked" } });
    await rejects(send({ text: "x" }), "UNAVAILABLE", /lane blocked/);
    await rejects(run.failed(), "UNAVAILABLE", /lane blocked/);
  });

  it("reads files of this machine, and refuses what only the Mac can do", async (t) => {
    const { channel, call, start, place } = await openImsg(t);
    await start(t).reported("connected");
    const ref = join(place, "a.jpg");
    writeFileSync(ref, "photo");
    const file = async (path: string, maxBytes: number) => channel.media?.({ ...call, ref: path, maxBytes });
    assert.deepEqual(await file(ref, 5), { bytes: Buffer.from("photo") });
    await rejects(file(ref, 4), "INVALID_REQUEST", /at most 4/);
    await rejects(file(join(place, "gone"), 4), "NOT_FOUND", /only on the Mac; next: run the gateway there/);
    await rejects(
      channel.react?.({ ...call, to: "x", messageId: "x", emoji: "👍" }),
      "INVALID_REQUEST",
      /cannot do this/,
    );
    const login = await channel.login?.next({
      ...call,
      state: undefined,
      answers: { command: join(place, "imsg.cjs") },
    });
    assert.equal(login?.kind, "done");
  });

  it("sends no file of this machine over SSH", async (t) => {
    const { place, imsg } = await openImsg(t);
    writeFileSync(join(place, "ssh"), `#!/bin/sh\nshift\nexec "$@"\n`, { mode: 0o755 });
    const channel = await channelOf(t, { command: [join(place, "ssh"), "mac", imsg.command] });
    const { start, send } = sceneOf(channel);
    await start(t).reported("connected");
    await rejects(send({ media: PHOTO }), "INVALID_REQUEST", /another machine/);
    await send({ text: "fine" });
  });
});
