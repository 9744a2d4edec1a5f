/** Malformed frames of every kind, before and after `connect`: the gateway stays up, responds, and leaks nothing. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as fc from "fast-check";
import type { Method } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { config } from "@svc/sdk/config";
import { health } from "@svc/sdk/health";
import { models } from "@svc/sdk/models";
import { plugins } from "@svc/sdk/plugins";
import { sessions } from "@svc/sdk/sessions";
import { connectFrame, connectRaw } from "../raw-socket.ts";
import { clientFrame, frames, hostileJson, mutate, mutation, UPGRADE } from "./inputs.ts";
import { inParallel, openWire } from "./raw-tcp.ts";
import { batches, fuzz, RUNS, SEED, startVictim, TOKEN, type Victim } from "./victim.ts";

const methods = [agents, chat, config, health, models, plugins, sessions].flatMap((contract) =>
  Object.values<Method>(contract),
);
const names = methods.map(({ name }) => name);
const keys = [
  ...new Set(methods.flatMap(({ params }) => Object.keys((params as { properties?: object }).properties ?? {}))),
];

describe(`malformed frames (${RUNS} each, seed ${SEED})`, { timeout: 600_000 }, () => {
  let victim: Victim;
  before(async () => {
    victim = await startVictim();
  });
  after(() => victim.stop());

  it("structured, before connect: refused with a close, one by one", async () => {
    const fields = ["minProtocol", "maxProtocol", "client", "role", "scopes", "device", "auth", "caps", "resume"];
    const bentConnect = fc
      .tuple(fc.constantFrom(...fields, "extra"), hostileJson(keys))
      .map(([key, value]) => connectFrame(TOKEN, { [key]: value }));
    const first = fc.oneof(
      { weight: 1, arbitrary: frames(["connect", ...names], keys) },
      { weight: 1, arbitrary: bentConnect },
    );
    await fuzz(
      victim,
      first,
      (frame) => Buffer.concat([UPGRADE, clientFrame(Buffer.from(JSON.stringify(frame) ?? "undefined"))]),
      (answer, frame) =>
        assert.ok(!answer.includes("INTERNAL"), `an internal error for ${JSON.stringify(frame)}; seed ${SEED}`),
    );
  });

  it("structured, after connect: every request with an id is answered, none with INTERNAL", async () => {
    const socket = await connectRaw(victim.url, TOKEN, { scopes: ["operator.read"] });
    for (const batch of batches(frames(names, keys))) {
      const asked = batch.filter(isRequest).map(({ id }) => id);
      socket.frames.length = 0;
      for (const frame of batch) socket.send(JSON.stringify(frame) ?? "undefined");
      socket.send({ type: "req", id: `end-${asked[0]}`, method: "health" });
      await socket.next(({ id }) => id === `end-${asked[0]}`);
      for (const id of asked) await socket.next((frame) => frame.type === "res" && frame.id === id);
      const broken = socket.frames.filter(({ error }) => error?.code === "INTERNAL");
      assert.deepEqual(broken, [], `an internal error; seed ${SEED}`);
      assert.ok(!JSON.stringify(socket.frames).includes(TOKEN), `a secret in an answer; seed ${SEED}`);
    }
    socket.ws.close();
    await victim.assertUnharmed();
  });

  it("bytes, before connect", async () => {
    const right = Buffer.concat([UPGRADE, clientFrame(Buffer.from(JSON.stringify(connectFrame("wrong"))))]);
    await fuzz(
      victim,
      mutation,
      (steps) => mutate(right, steps),
      (answer) => assert.ok(!answer.includes("hello-ok"), `a mutated connect was accepted; seed ${SEED}`),
    );
  });

  it("bytes, after connect", async () => {
    const right = clientFrame(
      Buffer.from(JSON.stringify({ type: "req", id: "1", method: "sessions.list", params: { limit: 3 } })),
    );
    const connect = clientFrame(Buffer.from(JSON.stringify(connectFrame(TOKEN, { scopes: ["operator.read"] }))));
    for (const batch of batches(mutation)) {
      const left = [...batch];
      await inParallel(
        Array.from({ length: 16 }, (_, lane) => lane),
        16,
        async () => {
          while (left.length > 0) {
            const wire = openWire(victim.port);
            wire.socket.write(Buffer.concat([UPGRADE, connect]));
            assert.ok(await wire.until("hello-ok"), "the handshake before the fuzz failed");
            // Until the gateway closes this connection.
            for (let sent = 0; wire.isOpen && sent < 40; sent++) {
              const steps = left.pop();
              if (!steps) break;
              wire.socket.write(mutate(right, steps));
              if (sent % 8 === 7) await new Promise(setImmediate);
            }
            wire.socket.destroy();
          }
        },
      );
    }
    await victim.assertUnharmed();
  });
});

function isRequest(frame: unknown): frame is { id: string } {
  if (typeof frame !== "object" || frame === null) return false;
  const { type, id, method } = frame as Record<string, unknown>;
  const known = ["type", "id", "method", "params"];
  return (
    type === "req" &&
    typeof id === "string" &&
    id !== "" &&
    typeof method === "string" &&
    method !== "" &&
    Object.keys(frame).every((key) => known.includes(key))
  );
}
