import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { listen, type ListenOptions } from "../../../host/net/listen.ts";

async function open(t: TestContext, options: Partial<ListenOptions> = {}) {
  const listener = await listen({
    addresses: ["127.0.0.1"],
    port: 0,
    headers: () => ({}),
    onRequest: (_request, response) => void response.end("here"),
    onSocket: (ws) => ws.close(),
    ...options,
  });
  t.after(() => listener.close());
  return listener;
}

describe("the port", () => {
  it("is a free one for 0, and responds", async (t) => {
    const { port, addresses } = await open(t);
    assert.ok(port > 0);
    assert.deepEqual(addresses, ["127.0.0.1"]);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "here");
  });

  it("is the same on every address, and an address that does not exist is skipped", async (t) => {
    const { port, addresses } = await open(t, { addresses: ["127.0.0.1", "127.0.0.2", "192.0.2.1"] });
    assert.deepEqual(addresses, ["127.0.0.1", "127.0.0.2"]);
    assert.equal(await (await fetch(`http://127.0.0.2:${port}/`)).text(), "here");
  });

  it("can be closed twice, disconnects open connections, and is free afterwards", async (t) => {
    const listener = await open(t);
    const socket = connect(listener.port, "127.0.0.1");
    await once(socket, "connect");
    const cut = once(socket, "close");
    await Promise.all([listener.close(), listener.close()]);
    await cut;
    await open(t, { port: listener.port });
  });

  it("disconnects a connection above the limit of an address, and accepts another after one has closed", async (t) => {
    const asked: string[] = [];
    const listener = await open(t, { mostOf: (address) => (asked.push(address), 2) });
    const isTaken = async () => {
      const socket = connect(listener.port, "127.0.0.1");
      t.after(() => socket.destroy());
      socket.on("error", () => undefined);
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      const taken = await Promise.race([
        once(socket, "data").then(() => true),
        once(socket, "close").then(() => false),
      ]);
      return { socket, taken };
    };
    const [first, second, third] = [await isTaken(), await isTaken(), await isTaken()];
    assert.deepEqual([first.taken, second.taken, third.taken, asked[0]], [true, true, false, "127.0.0.1"]);
    first.socket.destroy();
    while (!(await isTaken()).taken);
  });

  it("accepts no new connection once it refuses, and finishes a response in flight", async (t) => {
    let finish = () => {};
    const listener = await open(t, {
      onRequest: (_request, response) => {
        finish = () => void response.end("late");
        response.writeHead(200);
        response.flushHeaders();
      },
    });
    const answer = await fetch(`http://127.0.0.1:${listener.port}/`);
    listener.refuse();
    await assert.rejects(fetch(`http://127.0.0.1:${listener.port}/`));
    finish();
    assert.equal(await answer.text(), "late");
  });
});
