import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SCHEME_IDS, type SchemeId, SECRETS, SIGN, VECTORS } from "./signed-requests.ts";
import { outcome, verifier } from "./verifiers.ts";

const NO_FIT = /^no signature matches/;

/** The published example that has this header, with another value of it. */
function withHeader(header: string, value: string): string {
  const id = SCHEME_IDS.find((one) => header in VECTORS[one].headers) ?? assert.fail(header);
  const sample = VECTORS[id];
  return outcome(id, { ...sample, headers: { ...sample.headers, [header]: value } });
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
  const rows: [what: string, header: string, value: string, expected: string | RegExp][] = [
    ["upper-case hex", "x-hub-signature-256", `sha256=${GITHUB.slice(7).toUpperCase()}`, /64 lower-case/],
    ["an upper-case prefix", "x-hub-signature-256", GITHUB.replace("sha", "SHA"), /64 lower-case/],
    ["hex without a prefix", "x-hub-signature-256", GITHUB.slice(7), /is not "sha256="/],
    ["the older sha1", "x-hub-signature-256", `sha1=${"0".repeat(40)}`, /is not "sha256="/],
    ["a digit too few", "x-hub-signature-256", GITHUB.slice(0, -1), /64 lower-case/],
    ["a digit too many", "x-hub-signature-256", `${GITHUB}0`, /64 lower-case/],
    ["a blank behind", "x-hub-signature-256", `${GITHUB} `, /64 lower-case/],
    ["a line break behind", "x-hub-signature-256", `${GITHUB}\n`, /64 lower-case/],
    ["another digest", "x-hub-signature-256", `sha256=${"0".repeat(64)}`, NO_FIT],

    ["several v1, the last one right", "stripe-signature", `t=1492774577,${OTHER_V1},${V1}`, "good"],
    ["several v1, the first one right", "stripe-signature", `${STRIPE},${OTHER_V1}`, "good"],
    ["several v1, none right", "stripe-signature", `t=1492774577,${OTHER_V1},${OTHER_V1}`, NO_FIT],
    ["v1 before t", "stripe-signature", `${V1},t=1492774577`, "good"],
    ["a fake v0 beside v1", "stripe-signature", `${STRIPE},v0=${"0".repeat(64)}`, "good"],
    ["the right digest as v0", "stripe-signature", STRIPE.replace("v1", "v0"), /no signature \(v1=\)/],
    ["the right digest as v2", "stripe-signature", STRIPE.replace("v1", "v2"), /no signature \(v1=\)/],
    ["no t", "stripe-signature", V1, /has no time \(t=\)/],
    ["the same t twice", "stripe-signature", `t=1492774577,${STRIPE}`, /more than one time/],
    ["another t behind", "stripe-signature", `${STRIPE},t=1`, /more than one time/],
    ["an empty t", "stripe-signature", `t=,${V1}`, /not in whole seconds/],
    ["t with a blank", "stripe-signature", `t= 1492774577,${V1}`, /contains blanks/],
    ["t with a plus", "stripe-signature", `t=+1492774577,${V1}`, /not in whole seconds/],
    ["t with a zero before", "stripe-signature", `t=01492774577,${V1}`, /not in whole seconds/],
    ["t with a fraction", "stripe-signature", `t=1492774577.0,${V1}`, /not in whole seconds/],
    ["t as hex", "stripe-signature", `t=0x58f9eb71,${V1}`, /not in whole seconds/],
    ["t with other digits", "stripe-signature", `t=١٤٩٢٧٧٤٥٧٧,${V1}`, /not in whole seconds/],
    ["t of 400 digits", "stripe-signature", `t=${"9".repeat(400)},${V1}`, /not in whole seconds/],
    ["upper-case hex", "stripe-signature", `t=1492774577,v1=${V1.slice(3).toUpperCase()}`, /no signature/],
    ["blanks between elements", "stripe-signature", `t=1492774577, ${V1}`, /contains blanks/],
    ["16 signatures", "stripe-signature", `t=1492774577,${times(15, OTHER_V1, ",")},${V1}`, "good"],
    ["17 signatures", "stripe-signature", `${STRIPE},${times(16, OTHER_V1, ",")}`, /more than 16 sign/],

    ["upper-case hex", "x-slack-signature", `v0=${SLACK.slice(3).toUpperCase()}`, /64 lower-case/],
    ["another version", "x-slack-signature", SLACK.replace("v0", "v1"), /is not "v0="/],
    ["no version", "x-slack-signature", SLACK.slice(3), /is not "v0="/],
    ["a time with a blank", "x-slack-request-timestamp", "1531420618 ", /not a time in whole seconds/],
    ["a time in milliseconds", "x-slack-request-timestamp", "1531420618000", /not a time in whole seconds/],
    ["a time that is a word", "x-slack-request-timestamp", "now", /not a time in whole seconds/],
    ["a negative time", "x-slack-request-timestamp", "-1531420618", /not a time in whole seconds/],
    ["another time in the window", "x-slack-request-timestamp", "1531420619", NO_FIT],

    ["several, the last one right", "webhook-signature", `${OTHER_STANDARD} ${STANDARD}`, "good"],
    ["several, the first one right", "webhook-signature", `${STANDARD} ${OTHER_STANDARD}`, "good"],
    ["the asymmetric v1a beside it", "webhook-signature", `v1a,abc ${STANDARD}`, "good"],
    ["only v1a", "webhook-signature", STANDARD.replace("v1", "v1a"), /no signature \(v1,\)/],
    ["the right one as v2", "webhook-signature", STANDARD.replace("v1", "v2"), /no signature/],
    ["base64 without padding", "webhook-signature", STANDARD.slice(0, -1), /no signature/],
    ["base64 with stray bits", "webhook-signature", STANDARD.replace(/E=$/, "F="), /no signature/],
    ["base64 for URLs", "webhook-signature", STANDARD.replaceAll("+", "-"), /no signature/],
    ["16 signatures", "webhook-signature", `${times(15, OTHER_STANDARD, " ")} ${STANDARD}`, "good"],
    ["17 signatures", "webhook-signature", `${times(16, OTHER_STANDARD, " ")} ${STANDARD}`, /more than 16/],
    ["another id", "webhook-id", "msg_2", NO_FIT],
    ["an id of 256 characters", "webhook-id", "m".repeat(256), NO_FIT],
    ["an id of 257 characters", "webhook-id", "m".repeat(257), /is not 1 to 256 visible/],
    ["an id with a blank", "webhook-id", "msg 1", /is not 1 to 256 visible/],
    ["an id beyond ASCII", "webhook-id", "msgé", /is not 1 to 256 visible/],
    ["a time with a fraction", "webhook-timestamp", "1614265330.5", /not a time in whole/],
  ];
  for (const [what, header, value, expected] of rows) {
    it(`${header}: ${what} ${expected === "good" ? "is taken" : "is refused"}`, () => {
      const came = withHeader(header, value);
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
