import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SCHEME_IDS, type SchemeId, SECRETS, SIGN, VECTORS } from "./signed-requests.ts";
import { outcome, verifier } from "./verifiers.ts";

const NO_FIT = /^no signature matches/;

/** The published example with other headers. */
function withHeaders(id: SchemeId, headers: Readonly<Record<string, string>>): string {
  const sample = VECTORS[id];
  return outcome(id, { ...sample, headers: { ...sample.headers, ...headers } });
}

const GITHUB = VECTORS.github.headers["x-hub-signature-256"];
const STRIPE = VECTORS.stripe.headers["stripe-signature"];
const SLACK = VECTORS.slack.headers["x-slack-signature"];
const STANDARD = VECTORS["standard-webhooks"].headers["webhook-signature"];
const V1 = STRIPE.slice(STRIPE.indexOf("v1="));
const OTHER_V1 = `v1=${"0".repeat(64)}`;
const OTHER_STANDARD = `v1,${Buffer.alloc(32).toString("base64")}`;
const times = (count: number, text: string, separator: string) => Array<string>(count).fill(text).join(separator);

describe("what headers may look like", () => {
  const rows: [what: string, id: SchemeId, headers: Record<string, string>, expected: string | RegExp][] = [
    ["upper-case hex", "github", { "x-hub-signature-256": `sha256=${GITHUB.slice(7).toUpperCase()}` }, /64 lower-case/],
    ["an upper-case prefix", "github", { "x-hub-signature-256": GITHUB.replace("sha", "SHA") }, /64 lower-case/],
    ["hex without a prefix", "github", { "x-hub-signature-256": GITHUB.slice(7) }, /is not "sha256="/],
    ["the older sha1", "github", { "x-hub-signature-256": `sha1=${"0".repeat(40)}` }, /is not "sha256="/],
    ["a digit too few", "github", { "x-hub-signature-256": GITHUB.slice(0, -1) }, /64 lower-case/],
    ["a digit too many", "github", { "x-hub-signature-256": `${GITHUB}0` }, /64 lower-case/],
    ["a blank behind", "github", { "x-hub-signature-256": `${GITHUB} ` }, /64 lower-case/],
    ["a line break behind", "github", { "x-hub-signature-256": `${GITHUB}\n` }, /64 lower-case/],
    ["another digest", "github", { "x-hub-signature-256": `sha256=${"0".repeat(64)}` }, NO_FIT],

    ["several v1, the last one right", "stripe", { "stripe-signature": `t=1492774577,${OTHER_V1},${V1}` }, "good"],
    ["several v1, the first one right", "stripe", { "stripe-signature": `${STRIPE},${OTHER_V1}` }, "good"],
    ["several v1, none right", "stripe", { "stripe-signature": `t=1492774577,${OTHER_V1},${OTHER_V1}` }, NO_FIT],
    ["v1 before t", "stripe", { "stripe-signature": `${V1},t=1492774577` }, "good"],
    ["a fake v0 beside v1", "stripe", { "stripe-signature": `${STRIPE},v0=${"0".repeat(64)}` }, "good"],
    ["the right digest as v0", "stripe", { "stripe-signature": STRIPE.replace("v1", "v0") }, /no signature \(v1=\)/],
    ["the right digest as v2", "stripe", { "stripe-signature": STRIPE.replace("v1", "v2") }, /no signature \(v1=\)/],
    ["no t", "stripe", { "stripe-signature": V1 }, /has no time \(t=\)/],
    ["the same t twice", "stripe", { "stripe-signature": `t=1492774577,${STRIPE}` }, /more than one time/],
    ["another t behind", "stripe", { "stripe-signature": `${STRIPE},t=1` }, /more than one time/],
    ["an empty t", "stripe", { "stripe-signature": `t=,${V1}` }, /not in whole seconds/],
    ["t with a blank", "stripe", { "stripe-signature": `t= 1492774577,${V1}` }, /contains blanks/],
    ["t with a plus", "stripe", { "stripe-signature": `t=+1492774577,${V1}` }, /not in whole seconds/],
    ["t with a zero before", "stripe", { "stripe-signature": `t=01492774577,${V1}` }, /not in whole seconds/],
    ["t with a fraction", "stripe", { "stripe-signature": `t=1492774577.0,${V1}` }, /not in whole seconds/],
    ["t as hex", "stripe", { "stripe-signature": `t=0x58f9eb71,${V1}` }, /not in whole seconds/],
    ["t with other digits", "stripe", { "stripe-signature": `t=١٤٩٢٧٧٤٥٧٧,${V1}` }, /not in whole seconds/],
    ["t of 400 digits", "stripe", { "stripe-signature": `t=${"9".repeat(400)},${V1}` }, /not in whole seconds/],
    [
      "upper-case hex",
      "stripe",
      { "stripe-signature": `t=1492774577,v1=${V1.slice(3).toUpperCase()}` },
      /no signature/,
    ],
    ["blanks between elements", "stripe", { "stripe-signature": `t=1492774577, ${V1}` }, /contains blanks/],
    ["16 signatures", "stripe", { "stripe-signature": `t=1492774577,${times(15, OTHER_V1, ",")},${V1}` }, "good"],
    ["17 signatures", "stripe", { "stripe-signature": `${STRIPE},${times(16, OTHER_V1, ",")}` }, /more than 16 sign/],

    ["upper-case hex", "slack", { "x-slack-signature": `v0=${SLACK.slice(3).toUpperCase()}` }, /64 lower-case/],
    ["another version", "slack", { "x-slack-signature": SLACK.replace("v0", "v1") }, /is not "v0="/],
    ["no version", "slack", { "x-slack-signature": SLACK.slice(3) }, /is not "v0="/],
    ["a time with a blank", "slack", { "x-slack-request-timestamp": "1531420618 " }, /not a time in whole seconds/],
    [
      "a time in milliseconds",
      "slack",
      { "x-slack-request-timestamp": "1531420618000" },
      /not a time in whole seconds/,
    ],
    ["a time that is a word", "slack", { "x-slack-request-timestamp": "now" }, /not a time in whole seconds/],
    ["a negative time", "slack", { "x-slack-request-timestamp": "-1531420618" }, /not a time in whole seconds/],
    ["another time in the window", "slack", { "x-slack-request-timestamp": "1531420619" }, NO_FIT],

    [
      "several, the last one right",
      "standard-webhooks",
      { "webhook-signature": `${OTHER_STANDARD} ${STANDARD}` },
      "good",
    ],
    [
      "several, the first one right",
      "standard-webhooks",
      { "webhook-signature": `${STANDARD} ${OTHER_STANDARD}` },
      "good",
    ],
    ["the asymmetric v1a beside it", "standard-webhooks", { "webhook-signature": `v1a,abc ${STANDARD}` }, "good"],
    ["only v1a", "standard-webhooks", { "webhook-signature": STANDARD.replace("v1", "v1a") }, /no signature \(v1,\)/],
    ["the right one as v2", "standard-webhooks", { "webhook-signature": STANDARD.replace("v1", "v2") }, /no signature/],
    ["base64 without padding", "standard-webhooks", { "webhook-signature": STANDARD.slice(0, -1) }, /no signature/],
    [
      "base64 with stray bits",
      "standard-webhooks",
      { "webhook-signature": STANDARD.replace(/E=$/, "F=") },
      /no signature/,
    ],
    ["base64 for URLs", "standard-webhooks", { "webhook-signature": STANDARD.replaceAll("+", "-") }, /no signature/],
    [
      "16 signatures",
      "standard-webhooks",
      { "webhook-signature": `${times(15, OTHER_STANDARD, " ")} ${STANDARD}` },
      "good",
    ],
    [
      "17 signatures",
      "standard-webhooks",
      { "webhook-signature": `${times(16, OTHER_STANDARD, " ")} ${STANDARD}` },
      /more than 16/,
    ],
    ["another id", "standard-webhooks", { "webhook-id": "msg_2" }, NO_FIT],
    ["an id of 256 characters", "standard-webhooks", { "webhook-id": "m".repeat(256) }, NO_FIT],
    ["an id of 257 characters", "standard-webhooks", { "webhook-id": "m".repeat(257) }, /is not 1 to 256 visible/],
    ["an id with a blank", "standard-webhooks", { "webhook-id": "msg 1" }, /is not 1 to 256 visible/],
    ["an id beyond ASCII", "standard-webhooks", { "webhook-id": "msgé" }, /is not 1 to 256 visible/],
    ["a time with a fraction", "standard-webhooks", { "webhook-timestamp": "1614265330.5" }, /not a time in whole/],
  ];
  for (const [what, id, headers, expected] of rows) {
    it(`${id}: ${what} ${expected === "good" ? "is taken" : "is refused"}`, () => {
      const came = withHeaders(id, headers);
      if (typeof expected === "string") assert.equal(came, expected);
      else assert.match(came, expected);
    });
  }

  it("standard-webhooks: a full stop cannot move a part of the body into id and time", () => {
    const id = "standard-webhooks";
    const [secret] = SECRETS[id];
    const [body, at] = [Buffer.from("1700000001.{}"), 1_700_000_000];
    const headers = SIGN[id](body, [secret], at);
    assert.equal(outcome(id, { headers, body, secret, at }), "good");
    // The signed bytes are the same if the first part of the body becomes the time, and the time becomes part of the id.
    const shifted = { ...headers, "webhook-id": "msg_1.1700000000", "webhook-timestamp": "1700000001" };
    const moved = { headers: shifted, body: Buffer.from("{}"), secret, at };
    assert.match(outcome(id, moved), /without a full stop/);
  });
});

describe("secrets that cannot be one", () => {
  const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString("base64");
  const rows: [what: string, id: SchemeId, secret: string, problem: RegExp | undefined][] = [
    ...SCHEME_IDS.flatMap((id): [string, SchemeId, string, RegExp | undefined][] => [
      ["an empty one", id, "", /^is blank; copy/],
      ["blanks only", id, " \t\n", /^is blank; copy/],
      ["the one of the published example", id, VECTORS[id].secret, undefined],
    ]),
    ["a line break behind", "github", "abc\n", /line break/],
    ["a NUL, which HMAC would not tell from nothing", "slack", "abc\0", /control character/],
    ["a line break behind", "stripe", "whsec_abc\r\n", /line break/],
    ["no base64", "standard-webhooks", "whsec_not base64!", /^is not base64/],
    ["base64 for URLs", "standard-webhooks", `whsec_${"-_".repeat(16)}`, /^is not base64/],
    ["a line break behind", "standard-webhooks", `whsec_${base64(24)}\n`, /^is not base64/],
    ["the prefix alone", "standard-webhooks", "whsec_", /^has only 0 bytes; at least 24 are required/],
    ["23 bytes", "standard-webhooks", `whsec_${base64(23)}`, /^has only 23 bytes/],
    ["24 bytes", "standard-webhooks", `whsec_${base64(24)}`, undefined],
    ["64 bytes", "standard-webhooks", `whsec_${base64(64)}`, undefined],
    ["25 bytes without padding", "standard-webhooks", `whsec_${base64(25).replace(/=+$/, "")}`, undefined],
    ["24 bytes without prefix", "standard-webhooks", base64(24), undefined],
  ];
  for (const [what, id, secret, problem] of rows) {
    it(`${id}: ${what}${problem ? " is named" : " is fine"}`, () => {
      const said = verifier(id).secretProblem?.(secret);
      if (problem) assert.match(String(said), problem);
      else assert.equal(said, undefined);
      if (problem && secret.trim() !== "")
        assert.ok(!String(said).includes(secret.trim()), "the secret is not repeated");
    });
  }
});
