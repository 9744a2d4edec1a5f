/** Malformed HTTP requests of every kind, with and without the credential. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as fc from "fast-check";
import { hostileJson, mutate, mutation } from "./inputs.ts";
import { GUARDED_PATH, GUARDED_TEXT } from "./probe-plugin.ts";
import { exchange, inParallel } from "./raw-tcp.ts";
import { RUNS, SEED, startVictim, TOKEN, type Victim } from "./victim.ts";

const BATCH = 500;

/** Spellings of a path that some parsers treat as the plain one. */
const BENDS: readonly ((path: string) => string)[] = [
  (path) => path,
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => `/.${path}`,
  (path) => `/x/..${path}`,
  (path) => `/%2e${path}`,
  (path) => `/x/%2e%2e${path}`,
  (path) => path.replace("/plugins", "/Plugins"),
  (path) => path.replace("guarded", "GUARDED"),
  (path) => path.replace("guarded", "%67uarded"),
  (path) => path.replace("guarded", "guarded%20"),
  (path) => path.replace("/guarded", "%2fguarded"),
  (path) => path.replace("/guarded", "//guarded"),
  (path) => path.replace("/guarded", "\\guarded"),
  (path) => path.replace("/guarded", "%5cguarded"),
  (path) => path.replace("/guarded", "/./guarded"),
  (path) => path.replace("/guarded", "/x/../guarded"),
  (path) => path.replace("/guarded", ";a=b/guarded"),
  (path) => path.replace("guarded", "guarded;a"),
  (path) => path.replace("guarded", "guarded%00"),
  (path) => path.replace("guarded", "guarded.json"),
  (path) => path.replace("guarded", "ｇuarded"),
  (path) => path.replace("guarded", "gu%61rded"),
  (path) => path.replace("guarded", "gu%2561rded"),
  (path) => `${path}?token=${TOKEN}`,
  (path) => `${path}#x`,
  (path) => `${path}%3f`,
  (path) => `http://127.0.0.1${path}`,
  (path) => `http://evil.example${path}`,
  (path) => `//evil.example${path}`,
  (path) => `*${path}`,
  (path) => path.slice(1),
];

describe(`malformed HTTP (${RUNS} each, seed ${SEED})`, { timeout: 600_000 }, () => {
  let victim: Victim;
  before(async () => {
    victim = await startVictim();
  });
  after(() => victim.stop());

  async function fuzz<T>(
    arbitrary: fc.Arbitrary<T>,
    toBytes: (input: T) => Buffer,
    check: (answer: string, input: T) => void,
  ) {
    let hung = 0;
    for (let done = 0; done < RUNS; done += BATCH) {
      const batch = fc.sample(arbitrary, { numRuns: Math.min(BATCH, RUNS - done), seed: SEED + done });
      await inParallel(batch, 32, async (input) => {
        const { answer, hung: stuck } = await exchange(victim.port, toBytes(input));
        check(answer, input);
        if (stuck) hung++;
      });
    }
    assert.equal(hung, 0, `requests were left hanging; seed ${SEED}`);
    await victim.assertUnharmed();
  }

  const parts = fc.record({
    method: fc.oneof(
      { weight: 8, arbitrary: fc.constant("POST") },
      { weight: 2, arbitrary: fc.constantFrom("GET", "HEAD", "PUT", "OPTIONS", "TRACE", "CONNECT", "post") },
    ),
    path: fc.constantFrom(...BENDS).map((bend) => bend(GUARDED_PATH)),
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
  type Parts = typeof parts extends fc.Arbitrary<infer P> ? P : never;

  const request = ({ method, path, headers, body }: Parts, authorization: string) =>
    Buffer.from(
      `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${authorization}${headers.map((line) => `${line}\r\n`).join("")}` +
        `${headers.some((line) => /^(content-length|transfer-encoding)/i.test(line)) ? "" : `Content-Length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`,
    );
  const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);

  it("structured, without the credential: none is accepted, nothing breaks", async () => {
    await fuzz(
      parts,
      (input) => request(input, ""),
      (answer, input) => {
        assert.ok(!answer.includes(GUARDED_TEXT), `let in: ${JSON.stringify(input)}; seed ${SEED}`);
        assert.notEqual(statusOf(answer), 500, `broke: ${JSON.stringify(input)}; seed ${SEED}`);
      },
    );
  });

  it("structured, with the credential: the plain path works, every other spelling is 400, 404 or 405", async () => {
    await fuzz(
      parts,
      (input) => request(input, `Authorization: Bearer ${TOKEN}\r\n`),
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
