/** examples/webhook-channel, as its README says: messages are posted in, replies are posted out. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { root } from "../checkout.ts";
import { startGatewayProcess } from "../gateway-process.ts";
import { directory } from "../directory.ts";

const SECRET = "a-secret-of-the-test";

/** A chat server that records posted replies. */
async function chatServer(t: TestContext) {
  const replies: { authorization: string | undefined; body: unknown }[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      replies.push({ authorization: request.headers.authorization, body: JSON.parse(text) });
      response.end();
      server.emit("reply");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { server, replies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/replies` };
}

it(
  "examples/webhook-channel accepts each message of listed people once, and posts the replies",
  { timeout: 120_000 },
  async (t) => {
    const stateDir = directory(t);
    const { server, replies, url } = await chatServer(t);
    const gateway = await startGatewayProcess(stateDir, {
      SVC_CONFIG_PATH: join(root, "examples/webhook-channel/svc.json"),
      SVC_HOME: stateDir,
      LETTERBOX_SECRET: SECRET,
      LETTERBOX_URL: url,
    });
    t.after(() => gateway.kill());
    const post = async (message: object, secret = SECRET) => {
      const answer = await fetch(`${gateway.url.replace(/^ws/, "http")}/plugins/letterbox/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify(message),
      });
      const text = await answer.text();
      return [answer.status, text === "" ? undefined : (JSON.parse(text) as { reason?: string }).reason];
    };
    const hello = { id: "1", from: "ann", text: "echo hello" };
    const replied = once(server, "reply");
    assert.deepEqual(await post(hello), [202, undefined]);
    await replied;
    assert.deepEqual(replies, [{ authorization: `Bearer ${SECRET}`, body: { to: "ann", text: "hello" } }]);
    assert.deepEqual(await post(hello), [200, "duplicate"]);
    assert.deepEqual(await post({ ...hello, id: "2", from: "bob" }), [200, "not-allowed"]);
    assert.equal((await post(hello, "wrong"))[0], 401);
    assert.equal((await post({ id: "3" }))[0], 400);
  },
);
