/** Malformed HTTP requests of every kind, with and without the credential. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as fc from "fast-check";
import { hostileJson, mutate, mutation, requestBytes } from "./inputs.ts";
import { GUARDED_PATH, GUARDED_TEXT } from "./probe-plugin.ts";
import { fuzz, RUNS, SEED, startVictim, TOKEN, type Victim } from "./victim.ts";

/** Spellings of the guarded path that some parsers treat as the plain one. */
const PATHS = `
  ${GUARDED_PATH} ${GUARDED_PATH}/ /${GUARDED_PATH} /.${GUARDED_PATH} /x/..${GUARDED_PATH} /%2e${GUARDED_PATH}
  /x/%2e%2e${GUARDED_PATH} ${GUARDED_PATH}?token=${TOKEN} ${GUARDED_PATH}#x ${GUARDED_PATH}%3f *${GUARDED_PATH}
  http://127.0.0.1${GUARDED_PATH} http://evil.example${GUARDED_PATH} //evil.example${GUARDED_PATH} plugins/fuzz/guarded
  /Plugins/fuzz/guarded /plugins/fuzz/GUARDED /plugins/fuzz/%67uarded /plugins/fuzz/guarded%20 /plugins/fuzz%2fguarded
  /plugins/fuzz//guarded /plugins/fuzz\\guarded /plugins/fuzz%5cguarded /plugins/fuzz/./guarded
  /plugins/fuzz/x/../guarded /plugins/fuzz;a=b/guarded /plugins/fuzz/guarded;a /plugins/fuzz/guarded%00
  /plugins/fuzz/guarded.json /plugins/fuzz/ｇuarded /plugins/fuzz/gu%61rded /plugins/fuzz/gu%2561rded`
  .trim()
  .split(/\s+/);

describe(`malformed HTTP (${RUNS} each, seed ${SEED})`, { timeout: 600_000 }, () => {
  let victim: Victim;
  before(async () => {
    victim = await startVictim();
  });
  after(() => victim.stop());

  const parts = fc.record({
    method: fc.oneof(
      { weight: 8, arbitrary: fc.constant("POST") },
      { weight: 2, arbitrary: fc.constantFrom("GET", "HEAD", "PUT", "OPTIONS", "TRACE", "CONNECT", "post") },
    ),
    path: fc.constantFrom(...PATHS),
    headers: fc.array(
      fc.constantFrom(
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: gzip",
        "Content-Length: 999999999",
        "Content-Length: -1",
        "Expect: 100-continue",
        "X-Forwarded-For: 127.0.0.1",
        "Host: evil.example",
        "Host:",
        "Authorization: Bearer",
        "Authorization: Bearer wrong",
        "Connection: Upgrade\r\nUpgrade: websocket",
        "X-Svc-Scopes: operator.admin",
        "Origin: null",
        "Cookie: a=b",
        `X-Long: ${"a".repeat(20_000)}`,
      ),
      { maxLength: 4 },
    ),
    body: hostileJson(["text"]).map((value) => JSON.stringify(value) ?? ""),
  });
  const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);

  it("structured, without the credential: none is accepted, nothing breaks", async () => {
    await fuzz(
      victim,
      parts,
      (input) => requestBytes(input, ""),
      (answer, input) => {
        assert.ok(!answer.includes(GUARDED_TEXT), `let in: ${JSON.stringify(input)}; seed ${SEED}`);
        assert.notEqual(statusOf(answer), 500, `broke: ${JSON.stringify(input)}; seed ${SEED}`);
      },
    );
  });

  it("structured, with the credential: the plain path works, every other spelling is 400, 404 or 405", async () => {
    await fuzz(
      victim,
      parts,
      (input) => requestBytes(input, `Authorization: Bearer ${TOKEN}\r\n`),
      (answer, input) => {
        assert.notEqual(statusOf(answer), 500, `broke: ${JSON.stringify(input)}; seed ${SEED}`);
        const plain = [GUARDED_PATH, `${GUARDED_PATH}?token=${TOKEN}`, `${GUARDED_PATH}#x`].includes(input.path);
        if (answer.includes(GUARDED_TEXT))
          assert.ok(plain || !/%2|\\|\/\/|\.\./.test(input.path), `another spelling: ${input.path}; seed ${SEED}`);
        assert.ok(!answer.includes(TOKEN), `the secret came back; seed ${SEED}`);
      },
    );
  });

  for (const [how, authorization] of [
    ["without", ""],
    ["with", `Authorization: Bearer ${TOKEN}\r\n`],
  ] as const) {
    it(`bytes, ${how} the credential`, async () => {
      const body = '{"text":"hello"}';
      const right = Buffer.from(
        `POST ${GUARDED_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await fuzz(
        victim,
        mutation,
        (steps) => mutate(right, steps),
        (answer) => {
          assert.notEqual(statusOf(answer), 500, `broke; seed ${SEED}`);
          if (how === "without") assert.ok(!answer.includes(GUARDED_TEXT), `let in; seed ${SEED}`);
        },
      );
    });
  }
});
