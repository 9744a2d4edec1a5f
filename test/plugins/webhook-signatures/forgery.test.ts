/** Only the signed request itself is valid: a change of any single bit is refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { type Sample, SCHEME_IDS, SECRETS, SIGN, VECTORS } from "./signed-requests.ts";
import { outcome, verdict, verifier } from "./verifiers.ts";

/** Every copy of the bytes with one bit flipped. */
function* oneBitChanges(bytes: Uint8Array): Generator<Buffer> {
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const copy = Buffer.from(bytes);
    copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    yield copy;
  }
}

/** Header values are bytes for the sender and Latin-1 here. */
const headerChanges = (value: string) =>
  [...oneBitChanges(Buffer.from(value, "latin1"))].map((one) => one.toString("latin1"));

for (const id of SCHEME_IDS) {
  const sample: Sample = VECTORS[id];

  describe(`a request signed for ${id}`, () => {
    it("is refused with any one bit of its body changed, or a byte more or less", () => {
      let tried = 0;
      for (const body of oneBitChanges(sample.body)) {
        assert.match(outcome(id, { ...sample, body }), /^no signature matches/);
        tried += 1;
      }
      assert.equal(tried, sample.body.length * 8);
      for (const body of [
        sample.body.subarray(1),
        sample.body.subarray(0, -1),
        Buffer.concat([sample.body, Buffer.alloc(1)]),
      ])
        assert.match(outcome(id, { ...sample, body }), /^no signature matches/);
    });

    for (const [name, value] of Object.entries(sample.headers)) {
      it(`is refused with any one bit of ${name} changed`, () => {
        const changes = headerChanges(value);
        assert.equal(changes.length, value.length * 8);
        for (const changed of changes) {
          // The widest window, so that the request is never refused because of the time alone.
          const circumstances = { toleranceSeconds: Number.MAX_SAFE_INTEGER };
          const came = outcome(id, { ...sample, headers: { ...sample.headers, [name]: changed } }, circumstances);
          assert.notEqual(came, "good", JSON.stringify(changed));
        }
      });
    }

    it("is refused with any one bit of the secret changed", () => {
      for (const changed of oneBitChanges(Buffer.from(sample.secret, "latin1"))) {
        const secrets = [changed.toString("latin1")];
        assert.notEqual(outcome(id, sample, { secrets }), "good", JSON.stringify(secrets));
      }
    });

    it("is good whatever the body and the secret, and refused with another body", () => {
      const secret =
        id === "standard-webhooks"
          ? fc.uint8Array({ minLength: 24, maxLength: 80 }).map((key) => `whsec_${Buffer.from(key).toString("base64")}`)
          : fc
              .string({ minLength: 1, unit: "grapheme" })
              .filter((text) => verifier(id).secretProblem?.(text) === undefined);
      fc.assert(
        fc.property(
          fc.uint8Array(),
          fc.uint8Array(),
          secret,
          fc.integer({ min: 1, max: 9_999_999_999 }),
          (body, other, secret, at) => {
            const made = { headers: SIGN[id](body, [secret], at), body, secret, at };
            assert.equal(outcome(id, made), "good");
            const swapped = { ...made, body: other };
            assert.equal(outcome(id, swapped) === "good", Buffer.compare(body, other) === 0);
          },
        ),
        { numRuns: 200 },
      );
    });

    it("never throws, whatever comes, and refuses it", () => {
      const names = [...Object.keys(sample.headers), "__proto__", "constructor"];
      const value = fc.oneof(
        fc.string({ unit: "binary", maxLength: 80 }),
        ...Object.values(sample.headers).map((good) => fc.constant(good)),
        fc.stringMatching(/^(t=\d{0,12},?)?(v1[=,][0-9a-f]{62,66}[ ,]?){0,20}$/),
        fc.constant("v1,".repeat(5_000)),
        fc.stringMatching(/^\d{0,20}$/),
      );
      const headers = fc.dictionary(fc.constantFrom(...names), value);
      const secrets = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...SECRETS[id])));
      const number = fc.oneof(fc.double(), fc.integer(), fc.constant(sample.at * 1_000));
      const tolerance = fc.option(fc.oneof(fc.double(), fc.integer()), { nil: undefined });
      fc.assert(
        fc.property(
          headers,
          fc.uint8Array(),
          secrets,
          number,
          tolerance,
          (headers, rawBody, secrets, now, tolerance) => {
            const answer = verifier(id).verify({ headers, rawBody, now }, secrets, tolerance);
            assert.ok(!answer.ok && answer.reason.length > 0);
          },
        ),
        { numRuns: 500 },
      );
      fc.assert(
        fc.property(fc.string({ unit: "binary" }), (secret) => {
          const said = verifier(id).secretProblem?.(secret);
          assert.ok(said === undefined || said.length > 0);
        }),
      );
    });

    it("is refused when headers hold what no header can", () => {
      for (const odd of [undefined, null, 1, [], {}, ["a"], () => "", Symbol("a")]) {
        const headers = Object.fromEntries(Object.keys(sample.headers).map((name) => [name, odd])) as never; // what no type allows
        assert.equal(verdict(id, { ...sample, headers }).ok, false);
      }
    });
  });
}
