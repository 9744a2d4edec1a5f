/** The shared credential of every mode, on the wire. Spec: protocol/frames-and-connect.md §7; http/auth.md §4, §8. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { shared, start } from "./scene.ts";
import { facts } from "../../raw-socket.ts";

const limited = { timeout: 120_000 };
const exempt = { rateLimit: { maxAttempts: 1_000 } };
const remote = { host: "gateway.example" };

type Row = [sent: string, auth: object, outcome: string, reason?: string];

function rowsOf(mode: string, config: object, rows: Row[]): void {
  describe(`mode ${mode}`, limited, () => {
    const scene = shared({ gateway: { auth: { mode, ...config, ...exempt } } });
    for (const [sent, auth, outcome, reason] of rows) {
      it(`mode ${mode}: ${sent} is ${outcome} [W7.33]`, async () => {
        const { told, answer, close } = await scene().attempt({ auth }, remote);
        assert.equal(told, outcome);
        if (outcome === "ok") return;
        const { error } = answer ?? {};
        if (reason) assert.deepEqual(facts(error?.details), { code: outcome, authReason: reason });
        assert.equal(error?.code, reason ? "INVALID_REQUEST" : "NOT_PAIRED");
        if (reason) assert.match(error.message, /^unauthorized/);
        assert.ok(error && !("retryAfterMs" in error));
        assert.equal(close?.code, 1008);
        assert.ok(error.message.startsWith(close.reason));
      });
    }
  });
}

rowsOf("token", { token: "right" }, [
  ["the token [W7.6]", { token: "right" }, "ok"],
  ["the token with blanks around it [W7.4]", { token: " right\t" }, "ok"],
  ["another token [W7.6]", { token: "wrong" }, "AUTH_TOKEN_MISMATCH", "token_mismatch"],
  ["the token in another case", { token: "Right" }, "AUTH_TOKEN_MISMATCH", "token_mismatch"],
  ["the token as password [W7.6]", { password: "right" }, "AUTH_TOKEN_MISSING", "token_missing"],
  ["a blank token next to a password", { token: " ", password: "x" }, "AUTH_TOKEN_MISSING", "token_missing"],
  ["nothing", {}, "DEVICE_IDENTITY_REQUIRED"],
  ["blanks only [W7.4]", { token: " ", password: "\t", deviceToken: "" }, "DEVICE_IDENTITY_REQUIRED"],
]);
rowsOf("password", { password: "right" }, [
  ["the password", { password: "right" }, "ok"],
  ["the password with blanks around it", { password: " right " }, "ok"],
  ["the password in auth.token, by decision, [W7.8]", { token: "right" }, "ok"],
  ["another password [W7.8]", { password: "wrong" }, "AUTH_PASSWORD_MISMATCH", "password_mismatch"],
  ["another token", { token: "wrong" }, "AUTH_PASSWORD_MISMATCH", "password_mismatch"],
  ["nothing", {}, "DEVICE_IDENTITY_REQUIRED"],
]);

describe("mode none [W7.6 W7.35 W7.36 H8.4]", limited, () => {
  const scene = shared({ gateway: { auth: { mode: "none" } } });
  it("mode none: an operator on this machine is admitted with any credential or none [W7.11]", async () => {
    assert.equal((await scene().attempt({ auth: {} })).told, "ok");
    assert.equal((await scene().attempt({ auth: { token: "anything" } })).told, "ok");
  });
  it("mode none: it admits neither remote clients nor nodes [W7.11]", async () => {
    assert.equal((await scene().attempt({ auth: {} }, remote)).told, "DEVICE_IDENTITY_REQUIRED");
    assert.equal((await scene().attempt({ auth: {}, role: "node" })).told, "DEVICE_IDENTITY_REQUIRED");
  });
});

describe("where the credential comes from", limited, () => {
  it("the configuration wins over the environment [W7.2 H2.1]", async (t) => {
    const { attempt } = await start(
      t,
      { gateway: { auth: { token: "file", ...exempt } } },
      { env: { SVC_GATEWAY_TOKEN: "environment" } },
    );
    assert.equal((await attempt({ auth: { token: "file" } })).told, "ok");
    assert.equal((await attempt({ auth: { token: "environment" } })).told, "AUTH_TOKEN_MISMATCH");
  });

  it("the environment suffices, and a password there selects mode password [W7.1]", async (t) => {
    const { attempt, gateway } = await start(t, {}, { env: { SVC_GATEWAY_PASSWORD: "secret" } });
    assert.equal(gateway.auth.mode, "password");
    assert.equal((await attempt({ auth: { password: "secret" } })).told, "ok");
  });

  it("a password wins over a token when no mode is set [W7.1]", async (t) => {
    const { attempt } = await start(t, { gateway: { auth: { token: "t", password: "p", ...exempt } } });
    assert.equal((await attempt({ auth: { token: "p" } })).told, "ok");
    assert.equal((await attempt({ auth: { token: "t" } })).told, "AUTH_PASSWORD_MISMATCH");
  });

  it("without any, a token is generated, and required [W7.3]", async (t) => {
    const { attempt, gateway } = await start(t);
    assert.equal(gateway.auth.mode, "token");
    assert.ok(String(gateway.auth.token).length >= 43);
    assert.equal((await attempt()).told, "ok");
    assert.equal((await attempt({ auth: { token: "x" } })).told, "AUTH_TOKEN_MISMATCH");
  });
});

describe("locked out over WebSocket", limited, () => {
  it("AUTH_RATE_LIMITED, starting with unauthorized and without a retry time, also for the right token [W7.33 W7.38 W7.44]", async (t) => {
    const { attempt } = await start(t, { gateway: { auth: { rateLimit: { maxAttempts: 2, exemptLoopback: false } } } });
    for (let turn = 0; turn < 2; turn++)
      assert.equal((await attempt({ auth: { token: "wrong" } })).told, "AUTH_TOKEN_MISMATCH");
    const { answer, close } = await attempt();
    assert.deepEqual(facts(answer?.error?.details), { code: "AUTH_RATE_LIMITED", authReason: "rate_limited" });
    assert.match(String(answer?.error?.message), /^unauthorized/);
    assert.deepEqual(Object.keys(answer?.error ?? {}).toSorted(), ["code", "details", "message"]);
    assert.equal(close?.code, 1008);
  });
});
