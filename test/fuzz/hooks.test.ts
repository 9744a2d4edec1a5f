/** Malformed webhooks of every kind, with and without the hook token. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as fc from "fast-check";
import { hostileJson, mutate, mutation, requestBytes, type RequestParts } from "./inputs.ts";
import { GUARDED_TEXT, HOOK_ACTION } from "./probe-plugin.ts";
import { fuzz, HOOK_TOKEN, RUNS as ALL_RUNS, SEED, startVictim, type Victim } from "./victim.ts";

/** Long enough for a record to reach the disk; a request with an endless body is ended then. */
const END_AFTER_MS = 500;
const DIRECT = `/hooks/${HOOK_ACTION}`;
const KEYS = ["text", "source", "a", "b", "c", "list", "id", "sessionKey", "kind", "action"];

const ODD_PATHS = `
  /hooks/__proto__ /hooks/constructor /hooks/runs/x /hooks/runs/%00 /hooks/runs/__proto__
  /Hooks/${HOOK_ACTION} //hooks/${HOOK_ACTION} /hooks/%73wallow /hooks%2f${HOOK_ACTION} /x/../hooks/${HOOK_ACTION}
  ${DIRECT}/ http://127.0.0.1${DIRECT} ${DIRECT}?token=${HOOK_TOKEN} ${DIRECT}#x`
  .trim()
  .split(/\s+/);

const paths = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(DIRECT, "/hooks/mapped", "/hooks/deep/er", "/hooks/mapped?q=1&q=%00") },
  { weight: 2, arbitrary: fc.constantFrom("/hooks/signed", "/hooks/github", "/hooks", "/hooks/", "/hooks/nothing") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...ODD_PATHS),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }).map((text) => `/hooks/${encodeURIComponent(text)}`) },
);

const parts = fc.record({
  method: fc.oneof(
    { weight: 8, arbitrary: fc.constant("POST") },
    { weight: 2, arbitrary: fc.constantFrom("GET", "HEAD", "PUT", "OPTIONS", "TRACE", "post") },
  ),
  path: paths,
  headers: fc.array(
    fc.constantFrom(
      "Content-Type: application/x-www-form-urlencoded",
      "Transfer-Encoding: chunked",
      "Content-Length: 999999999",
      "Content-Length: -1",
      "Expect: 100-continue",
      "X-Forwarded-For: 203.0.113.1",
      "Authorization: Bearer",
      "Authorization: Bearer wrong",
      "X-Svc-Token: wrong",
      "X-Svc-Token:",
      "Idempotency-Key: same",
      "Idempotency-Key:",
      `Idempotency-Key: ${"k".repeat(300)}`,
      "X-Event: push",
      "X-Github-Event: issues",
      "X-Github-Delivery: __proto__",
      `X-Hub-Signature-256: sha256=${"0".repeat(64)}`,
      "X-Hub-Signature-256: sha256=",
      "X-Hub-Signature-256: ,,,",
      `X-Long: ${"a".repeat(12_000)}`,
    ),
    { maxLength: 4 },
  ),
  body: fc.oneof(
    { weight: 6, arbitrary: hostileJson(KEYS).map((value) => JSON.stringify(value) ?? "") },
    {
      weight: 2,
      arbitrary: fc
        .tuple(hostileJson(KEYS), hostileJson(KEYS))
        .map(([a, text]) => JSON.stringify({ source: "fuzz", a, text })),
    },
    { weight: 1, arbitrary: fc.constantFrom("", "{", "[".repeat(15_000), "{}".repeat(9), "\u0000", '{"a":1e999}') },
    { weight: 1, arbitrary: fc.string({ maxLength: 100 }) },
  ),
});
let senders = 0;
/** Each request has another sender behind the proxy, because a sender that guesses is locked out. */
const sender = () => `X-Forwarded-For: 198.51.${(++senders >> 8) & 255}.${senders & 255}\r\n`;

const request = (input: RequestParts, authorization: string) => requestBytes(input, `${sender()}${authorization}`);

const statusesOf = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Every status in http/webhooks.md §12, the refusals of HTTP itself, and 100. No 500, since no transform fails here. */
const STATUSES = new Set([100, 200, 204, 400, 401, 404, 405, 408, 409, 413, 417, 429, 431, 501, 503]);

/** A quarter of the usual number: most inputs are written to disk, and http.test.ts covers the HTTP path. */
const RUNS = Math.ceil(ALL_RUNS / 4);

describe(`malformed webhooks (${RUNS} each, seed ${SEED})`, { timeout: 600_000 }, () => {
  let victim: Victim;
  before(async () => {
    victim = await startVictim(["127.0.0.1"]);
  });
  after(() => victim.stop());

  /** @returns the number of responses per status */
  async function statuses<T>(
    arbitrary: fc.Arbitrary<T>,
    toBytes: (input: T) => Buffer,
    isAllowedIn: boolean,
  ): Promise<Map<number, number>> {
    const counts = new Map<number, number>();
    const check = (answer: string, input: T) => {
      for (const status of statusesOf(answer)) {
        counts.set(status, (counts.get(status) ?? 0) + 1);
        assert.ok(STATUSES.has(status), `${status} to ${JSON.stringify(input)}; seed ${SEED}`);
      }
      const isIn = answer.includes(GUARDED_TEXT) || answer.includes('"runId"'); // 200 alone: the page of the control panel
      assert.ok(isAllowedIn || !isIn, `let in: ${JSON.stringify(input)}; seed ${SEED}`);
      assert.ok(!answer.includes("canary-"), `a secret came back: ${JSON.stringify(input)}; seed ${SEED}`);
    };
    await fuzz(victim, arbitrary, toBytes, check, { runs: RUNS, endAfterMs: END_AFTER_MS });
    return counts;
  }

  it("structured, without the token: none is accepted, nothing breaks", async () => {
    const counts = await statuses(parts, (input) => request(input, ""), false);
    assert.ok((counts.get(401) ?? 0) > 0, "none was refused: this fuzz reaches nothing");
  });

  it("structured, with the token: only statuses of the table, and nothing breaks", async () => {
    const authorization = `Authorization: Bearer ${HOOK_TOKEN}\r\n`;
    const counts = await statuses(parts, (input) => request(input, authorization), true);
    assert.ok((counts.get(200) ?? 0) > 0, "none was taken: this fuzz reaches nothing");
  });

  for (const [how, authorization] of [
    ["without", ""],
    ["with", `Authorization: Bearer ${HOOK_TOKEN}\r\n`],
  ] as const) {
    it(`bytes, ${how} the token`, async () => {
      const body = '{"source":"fuzz","text":"hello","a":{"b":[]},"list":[{"x":1}],"id":"1"}';
      const right = Buffer.from(
        `POST /hooks/mapped?q=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${authorization}X-Event: push\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      await statuses(mutation, (steps) => mutate(right, steps), how === "with");
    });
  }
});
