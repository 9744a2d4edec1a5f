/** A stolen token reaches the session of its visitor, and nothing else of the gateway. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { connect } from "@svc/sdk/client";
import { startScene } from "../channels/scene.ts";
import { until } from "../../until.ts";
import { meet, openSocket, ORIGIN } from "./visitor.ts";

it(
  "a stolen token opens no other account, session, route or connection, and is stored nowhere",
  { timeout: 120_000 },
  async (t) => {
    const website = { allowedOrigins: [ORIGIN], accounts: { default: {}, other: {} } };
    const plugins = ["webchat", "devices", "http-chat", "http-tools", "http-responses", "chat"];
    const { gateway, client, stateDir, inside } = await startScene(t, plugins, { config: { channels: { website } } });
    const http = `http://127.0.0.1:${gateway.port}`;
    const running = async () =>
      (await client.request("channels.status", {})) as { channelAccounts: Record<string, { connected?: boolean }[]> };
    await until(
      async () => (await running()).channelAccounts["website"]?.every((one) => one.connected) === true,
      "the accounts",
    );
    const victim = await meet(t, http);
    const { token = "", visitor } = victim.welcome;
    victim.socket.send({ type: "send", id: "message-1", text: "my order" });
    await victim.socket.next("accepted");

    // Only the conversation of its visitor, in its account.
    assert.equal((await meet(t, http, { token })).welcome.visitor, visitor);
    const elsewhere = await meet(t, http, { token, account: "other" });
    assert.notEqual(elsewhere.welcome.visitor, visitor);
    assert.deepEqual(elsewhere.welcome.messages, []);
    for (const guess of [visitor, `${token}x`, token.slice(1), token.toLowerCase(), ""])
      assert.notEqual((await meet(t, http, { token: guess })).welcome.visitor, visitor, guess);
    const socket = await openSocket(t, http);
    socket.send({ type: "hello", token, visitor: "0".repeat(32) });
    assert.equal((await socket.next("refused")).reason, "invalid");

    // No route of the gateway.
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const requests: [method: string, path: string, body?: object][] = [
      ["POST", "/v1/chat/completions", { model: "svc", messages: [{ role: "user", content: "hi" }] }],
      ["POST", "/v1/responses", { model: "svc", input: "hi" }],
      ["GET", "/v1/responses/one"],
      ["POST", "/tools/invoke", { tool: "message", args: {} }],
    ];
    for (const [method, path, body] of requests) {
      const response = await fetch(http + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
      assert.ok([401, 403, 404].includes(response.status), `${path}: ${response.status}`);
    }

    // No connection of the gateway.
    for (const credential of [{ token }, { password: token }, { deviceToken: token }, { token: visitor }])
      await assert.rejects(
        connect({ url: gateway.url, reconnect: false, ...credential } as Parameters<typeof connect>[0]),
        JSON.stringify(Object.keys(credential)),
      );

    // A run of a stranger reads at most.
    const rows = await inside.storage.all<{ request: string }>("SELECT request FROM agent_runs");
    assert.ok(rows.length > 0);
    for (const { request } of rows) {
      assert.match(request, /operator\.read/);
      assert.doesNotMatch(request, /operator\.(?!read)/);
    }

    for (const name of readdirSync(stateDir, { recursive: true, encoding: "utf8" })) {
      const bytes = readFile(join(stateDir, name));
      assert.ok(!bytes.includes(token), name);
    }
  },
);

function readFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0); // a directory, a socket, or a file that is gone
  }
}
