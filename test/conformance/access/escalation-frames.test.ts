/** A `connect` that can be read in two ways: keys twice, prototypes, escapes, other types. Spec: design/security.md "parsers disagree". */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openRaw } from "../../raw-socket.ts";
import { ADMIN, type Outcome, READ, SECRET } from "../../plugins/devices/scene.ts";
import { type Held, holder } from "./holder.ts";
import { powers } from "./scene.ts";

const limited = { timeout: 120_000 };

describe("an ambiguous frame", limited, () => {
  const text = (outcome: Outcome["socket"], held: Held, edit: (frame: string) => string) => {
    const nonce = String(outcome.frames.find(({ event }) => event === "connect.challenge")?.payload?.["nonce"]);
    const { device, token } = held;
    const signedAt = Date.now();
    const payload = ["v3", device.id, "cli", "cli", "operator", READ, signedAt, token, nonce, "linux", ""].join("|");
    const proof = { id: device.id, publicKey: device.publicKey, signature: device.sign(payload), signedAt, nonce };
    const client = { id: "cli", version: "1", platform: "linux", mode: "cli" };
    const common = { minProtocol: 3, maxProtocol: 3, client, role: "operator", scopes: [READ] };
    const params = { ...common, auth: { token }, device: proof };
    return edit(JSON.stringify({ type: "req", id: "c1", method: "connect", params }));
  };
  const SCOPES = `"scopes":["${READ}"]`;
  const WIDE = `"scopes":["${ADMIN}"]`;
  const PARAMS = '"params":{';
  const edits: readonly (readonly [string, (frame: string) => string])[] = [
    ["scopes twice, wide last", (frame) => frame.replace(SCOPES, `${SCOPES},${WIDE}`)],
    ["scopes twice, wide first", (frame) => frame.replace(SCOPES, `${WIDE},${SCOPES}`)],
    ["params twice", (frame) => frame.replace(PARAMS, `${PARAMS}${WIDE}},${PARAMS}`)],
    ["role twice", (frame) => frame.replace('"role":"operator"', '"role":"node","role":"operator"')],
    ["a prototype of params", (frame) => frame.replace(PARAMS, `${PARAMS}"__proto__":{${WIDE}},`)],
    ["a prototype of auth", (frame) => frame.replace('"auth":{', `"auth":{"__proto__":{"token":"${SECRET}"},`)],
    ["a constructor of params", (frame) => frame.replace(PARAMS, `${PARAMS}"constructor":{"prototype":{${WIDE}}},`)],
    ["a prototype of the frame", (frame) => frame.replace("{", `{"__proto__":{"principal":{${WIDE}}},`)],
    [
      "a prototype of scopes",
      (frame) => frame.replace(`["${READ}"]`, `{"__proto__":["${ADMIN}"],"0":"${READ}","length":1}`),
    ],
    ["an escaped key", (frame) => frame.replace('"scopes"', `"\\u0073copes":["${ADMIN}"],"scopes"`)],
    ["an escaped scope", (frame) => frame.replace(READ, "operator\\u002eadmin")],
    ["scopes as a text", (frame) => frame.replace(`["${READ}"]`, `"${ADMIN}"`)],
    ["nested scopes", (frame) => frame.replace(`["${READ}"]`, `[["${ADMIN}"]]`)],
    ["principal next to params", (frame) => frame.replace('"method"', `"principal":{"scopes":["${ADMIN}"]},"method"`)],
  ];

  it("is refused, or grants only what the device may have", async (t) => {
    const held = await holder(t);
    const { scene } = held;
    for (const [what, edit] of edits) {
      const socket = await openRaw(scene.url);
      t.after(() => socket.ws.terminate());
      const original = text(socket, held, (frame) => frame);
      const edited = text(socket, held, edit);
      const plain = (frame: string) => frame.replace(/"signature":"[^"]+"|"signedAt":\d+/g, "");
      assert.notEqual(plain(edited), plain(original), what);
      socket.send(edited);
      const frame = await socket.next(({ id }) => id === "c1").catch(() => undefined);
      if (frame?.ok !== true) continue;
      assert.deepEqual(await powers(socket), [READ], what);
    }
    assert.equal(({} as { scopes?: unknown }).scopes, undefined, "no prototype was changed");
    assert.deepEqual((await scene.list()).pending, []);
  });
});
