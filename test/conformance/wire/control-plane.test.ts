/** The write limit on its methods. Spec: http/auth.md §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectRaw } from "../../raw-socket.ts";
import { fileGateway } from "../file-gateway.ts";
import { ask } from "./scene.ts";

describe("control-plane writes", { timeout: 120_000 }, () => {
  it("config.patch and config.apply share 3 per 60 s, including calls refused for their hash [H9.4 H9.6]", async (t) => {
    const { gateway } = await fileGateway(t);
    const socket = await connectRaw(gateway.url, gateway.auth.token, { scopes: ["operator.admin"] });
    const params = { raw: "{}", baseHash: "stale" };
    for (const method of ["config.patch", "config.apply", "config.patch"]) {
      const { ok, error } = await ask(socket, method, { params });
      assert.equal(ok, false);
      assert.notEqual(error?.code, "UNAVAILABLE", error?.message);
    }
    for (const method of ["config.patch", "config.apply"]) {
      const { error } = await ask(socket, method, { params });
      const { code, details, retryable, retryAfterMs } = error as unknown as Record<string, unknown>;
      assert.deepEqual([code, details, retryable], ["UNAVAILABLE", { method, limit: "3 per 60s" }, true]);
      assert.ok(Number(retryAfterMs) > 0 && Number(retryAfterMs) <= 60_000);
    }
  });
});
