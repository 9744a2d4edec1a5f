import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPlugin } from "@svc/sdk";
import plugin from "../../../plugins/webhook-signatures/plugin.ts";
import { type Sample, SCHEME_IDS, type SchemeId, SECRETS, SIGN, VECTORS } from "./signed-requests.ts";
import { outcome, replayKey, verifiers } from "./verifiers.ts";

const AT = 1_700_000_000;
const NO_FIT = /^no signature matches/;

/** A request, signed now with the first secret of the scheme. */
function signed(id: SchemeId, { body = Buffer.from('{"a":1}'), secrets = [SECRETS[id][0]], at = AT } = {}): Sample {
  return { headers: SIGN[id](body, secrets, at), body, secret: SECRETS[id][0], at };
}

it("the plugin contributes four verifiers, each with a summary", () => {
  assert.ok(isPlugin(plugin));
  assert.deepEqual([...verifiers.keys()], ["github", "stripe", "slack", "standard-webhooks"]);
  for (const { summary } of verifiers.values()) assert.notEqual(summary.trim(), "");
});

for (const id of SCHEME_IDS) {
  describe(`the verifier ${id}`, () => {
    it("takes the published example", () => assert.equal(outcome(id, VECTORS[id]), "good"));

    it("takes what is signed for this test", () => assert.equal(outcome(id, signed(id)), "good"));

    it("verifies bytes: a body that is no UTF-8, an empty one, one with a byte order mark", () => {
      const bodies = [Buffer.from([0xff, 0xfe, 0x80, 0x00, 0xc3]), Buffer.alloc(0), Buffer.from("\uFEFF{}")];
      for (const body of bodies) assert.equal(outcome(id, signed(id, { body })), "good");
      const sample = signed(id, { body: Buffer.from([0xff]) });
      assert.match(outcome(id, { ...sample, body: Buffer.from("\uFFFD") }), NO_FIT);
    });

    it("takes either of two secrets, in either order, and no third", () => {
      const [old, fresh] = SECRETS[id];
      for (const secret of [old, fresh]) {
        const sample = signed(id, { secrets: [secret] });
        assert.equal(outcome(id, sample, { secrets: [old, fresh] }), "good");
        assert.equal(outcome(id, sample, { secrets: [fresh, old] }), "good");
      }
      assert.match(outcome(id, signed(id, { secrets: [fresh] }), { secrets: [old] }), NO_FIT);
    });

    it("passes over secrets that cannot be one, and refuses when no other is left", () => {
      const { secret } = signed(id);
      assert.equal(outcome(id, signed(id), { secrets: ["", " ", secret] }), "good");
      const blank = { ...signed(id), headers: SIGN[id](Buffer.from('{"a":1}'), [""], AT) };
      for (const secrets of [[], [""], [" \n"]])
        assert.match(outcome(id, blank, { secrets }), /^no usable secret is configured; see svc hooks check$/);
    });

    it("does not take headers of another scheme", () => {
      for (const other of SCHEME_IDS.filter((one) => one !== id)) {
        assert.match(outcome(id, { ...signed(id), headers: signed(other).headers }), /^header \S+ is missing/);
      }
    });

    for (const name of Object.keys(VECTORS[id].headers)) {
      it(`refuses ${name} that is missing, blank or too long, and names it`, () => {
        const sample = signed(id);
        const without = Object.fromEntries(Object.entries(sample.headers).filter(([key]) => key !== name));
        const missing = new RegExp(`^header ${name} is missing; is the secret set`);
        assert.match(outcome(id, { ...sample, headers: without }), missing);
        for (const blank of ["", " ", "\t"])
          assert.match(outcome(id, { ...sample, headers: { ...sample.headers, [name]: blank } }), missing);
        const long = { ...sample.headers, [name]: `${sample.headers[name]}${" ".repeat(4096)}` };
        assert.equal(outcome(id, { ...sample, headers: long }), `header ${name} is longer than 4096 characters`);
      });

      it(`refuses ${name} sent twice`, () => {
        const { headers, ...rest } = signed(id);
        const value = headers[name] ?? "";
        const twice = outcome(id, { ...rest, headers: { ...headers, [name]: `${value}, ${value}` } });
        // If a header may contain several signatures, the second one counts as well.
        if (name === "webhook-signature") assert.equal(twice, "good");
        else assert.match(twice, new RegExp(`header ${name}`));
      });
    }
  });
}

describe("the time window", () => {
  const rows: [later: number, toleranceSeconds: number | undefined, good: boolean][] = [
    [300, undefined, true],
    [301, undefined, false],
    [-300, undefined, true],
    [-301, undefined, false],
    [10, 10, true],
    [11, 10, false],
    [-11, 10, false],
    [3_600, 3_600, true],
    [0, Number.NaN, false],
    [0, -1, false],
    [Number.NaN, undefined, false],
    [Number.POSITIVE_INFINITY, undefined, false],
  ];
  for (const [later, toleranceSeconds, good] of rows) {
    it(`${good ? "holds" : "does not hold"} ${later} s after, with a tolerance of ${toleranceSeconds ?? "300 (default)"}`, () => {
      for (const id of ["stripe", "slack", "standard-webhooks"] as const) {
        const circumstances = { later, ...(toleranceSeconds !== undefined && { toleranceSeconds }) };
        assert[good ? "equal" : "notEqual"](outcome(id, signed(id), circumstances), "good", id);
      }
    });
  }

  it("lasts to the end of its last second, as the senders' own libraries count", () => {
    assert.equal(outcome("stripe", signed("stripe"), { later: 300.999 }), "good");
    assert.notEqual(outcome("stripe", signed("stripe"), { later: -300.001 }), "good");
  });

  it("says by how much and in which direction a time is off", () => {
    assert.match(
      outcome("slack", signed("slack"), { later: 412 }),
      /signed 412 s before the gateway's clock; 300 s are allowed/,
    );
    assert.match(outcome("slack", signed("slack"), { later: -412 }), /signed 412 s ahead of the gateway's clock/);
  });

  it("is none for github, which signs no time", () => {
    assert.equal(outcome("github", signed("github"), { later: 1_000_000 }), "good");
  });
});

describe("the replay key", () => {
  it("begins with the verifier and shows no signature", () => {
    for (const id of SCHEME_IDS) {
      const key = replayKey(id, VECTORS[id]);
      assert.ok(key.startsWith(`${id}:`));
      for (const value of Object.values(VECTORS[id].headers)) {
        for (const part of value.match(/[0-9a-f]{64}|[A-Za-z0-9+/]{43}=/g) ?? []) assert.ok(!key.includes(part));
      }
    }
    assert.equal(
      replayKey("standard-webhooks", VECTORS["standard-webhooks"]),
      "standard-webhooks:msg_p5jXN8AQM9LWM0D4loKWxJek",
    );
  });

  it("is the same for the same delivery and another for another body", () => {
    for (const id of SCHEME_IDS) {
      assert.equal(replayKey(id, signed(id)), replayKey(id, signed(id), { later: 1 }));
      if (id === "standard-webhooks") continue; // its id says which delivery it is
      assert.notEqual(replayKey(id, signed(id)), replayKey(id, signed(id, { body: Buffer.from('{"a":2}') })));
    }
  });

  it("is another for the same body at another time, where a time is signed", () => {
    for (const id of ["stripe", "slack"] as const)
      assert.notEqual(replayKey(id, signed(id)), replayKey(id, signed(id, { at: AT + 1 })));
    assert.equal(replayKey("github", signed("github")), replayKey("github", signed("github", { at: AT + 1 })));
  });

  it("stays the same when one of several signatures is taken away or a secret is replaced", () => {
    for (const id of ["stripe", "standard-webhooks"] as const) {
      const secrets = [...SECRETS[id]];
      const keys = [secrets, ...secrets.map((one) => [one])].map((some) =>
        replayKey(id, signed(id, { secrets: some }), { secrets }),
      );
      assert.equal(new Set(keys).size, 1, id);
    }
  });
});
