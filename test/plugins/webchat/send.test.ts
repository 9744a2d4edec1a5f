/** What agents send: to visitors who are there or not, once, with files; and what is refused. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { scene, SUITE_MS } from "./scene.ts";

describe("a message of the agent", { timeout: SUITE_MS }, () => {
  it("waits for a visitor who is away, and is shown once however often it is sent", async (t) => {
    const { run, meet, send } = await scene(t);
    await run();
    const { socket, welcome } = await meet();
    socket.close();
    const id = randomBytes(16).toString("hex");
    const receipts = await Promise.all([
      send(welcome.visitor, { id, text: "first" }),
      send(welcome.visitor, { id, text: "first" }),
    ]);
    assert.deepEqual(receipts, [{ messageId: `a-${id}` }, { messageId: `a-${id}` }]);
    const again = await meet({ token: welcome.token ?? "" });
    assert.deepEqual(
      again.welcome.messages.map(({ text }) => text),
      ["first"],
    );
    await send(welcome.visitor, { id, text: "first" });
    await send(welcome.visitor, { text: "second" });
    assert.equal((await again.socket.next("message")).text, "second");
  });

  it("reaches every tab of its visitor, and nobody else", async (t) => {
    const { run, meet, send, channel, facts } = await scene(t);
    await run();
    const [ada, bob] = [await meet(), await meet()];
    const tab = await meet({ token: ada.welcome.token ?? "" });
    const to = ada.welcome.visitor;
    const { messageId = "" } = await send(to, { text: "for Ada" });
    await channel.typing?.({ ...facts(), to });
    await channel.edit?.({ ...facts(), to, messageId, text: "for Ada only" });
    for (const { socket } of [ada, tab]) {
      assert.equal((await socket.next("edit")).text, "for Ada only");
      assert.deepEqual(
        socket.frames.map(({ type }) => type),
        ["welcome", "message", "typing", "edit"],
      );
    }
    await send(bob.welcome.visitor, { text: "for Bob" });
    assert.equal((await bob.socket.next("message")).text, "for Bob");
    assert.equal(bob.socket.frames.length, 2);
    const wrong = { ...facts(), to: bob.welcome.visitor, messageId, text: "changed" };
    await assert.rejects(async () => channel.edit?.(wrong), { code: "NOT_FOUND" });
  });

  it("carries a file, which only its visitor can fetch, in parts", async (t) => {
    const { run, meet, send } = await scene(t);
    await run();
    const { socket, welcome } = await meet();
    const bytes = randomBytes(500_000);
    const media = { kind: "file", bytes, name: "list.pdf", mimeType: "application/pdf" } as const;
    const { messageId = "" } = await send(welcome.visitor, { text: "the list", media });
    assert.deepEqual((await socket.next("message")).file, {
      name: "list.pdf",
      mimeType: "application/pdf",
      size: 500_000,
    });
    const parts: Buffer[] = [];
    for (let isLast = false, offset = 0; !isLast; offset = Buffer.concat(parts).length) {
      socket.send({ type: "file", messageId, offset });
      const part = await socket.next("file", parts.length + 1);
      parts.push(Buffer.from(part.data, "base64"));
      ({ isLast } = part);
    }
    assert.ok(Buffer.concat(parts).equals(bytes));
    socket.send({ type: "file", messageId, offset: 500_000 });
    assert.deepEqual(await socket.next("refused"), { type: "refused", id: messageId, reason: "gone" });
    const other = await meet();
    other.socket.send({ type: "file", messageId, offset: 0 });
    assert.equal((await other.socket.next("refused")).reason, "gone");
    const large = { ...media, bytes: Buffer.alloc(2_000_001) };
    await assert.rejects(send(welcome.visitor, { media: large }), { code: "INVALID_REQUEST", message: /send a link/ });
  });

  it("is refused for an unknown visitor, and after an abort", async (t) => {
    const { run, meet, send, channel, facts } = await scene(t);
    await run();
    const unknown = "0".repeat(32);
    await assert.rejects(send(unknown, { text: "a" }), { code: "INVALID_REQUEST", message: /; next: / });
    const { socket, welcome } = await meet();
    const to = welcome.visitor;
    const signal = AbortSignal.abort();
    await assert.rejects(send(to, { text: "a", signal }));
    await assert.rejects(async () => channel.edit?.({ ...facts(), to, messageId: "a-1", text: "b", signal }));
    assert.equal(socket.frames.length, 1);
  });

  it("is kept among the newest 500, of which a page gets as many as the setting says", async (t) => {
    const { run, meet, send } = await scene(t, { historyMessages: 3 });
    await run();
    const { welcome } = await meet();
    const ids = Array.from({ length: 505 }, (_, index) => index.toString(16).padStart(32, "0"));
    for (const id of ids) await send(welcome.visitor, { id, text: id });
    const { messages } = (await meet({ token: welcome.token ?? "" })).welcome;
    assert.deepEqual(
      messages.map(({ text }) => text),
      ids.slice(-3),
    );
  });
});
