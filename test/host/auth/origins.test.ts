/** Spec: http/auth.md §7.4. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { effectiveOrigins, originPolicy } from "../../../host/auth/origins.ts";
import type { GatewaySection } from "../../../host/config/host-schema.ts";

describe("pages that may connect", () => {
  const seeded = ["http://localhost:18789", "http://127.0.0.1:18789"];
  const rows: [why: string, section: GatewaySection, origins: readonly string[]][] = [
    ["loopback: only those of this machine", {}, []],
    ["auto: none", { bind: "auto" }, []],
    ["lan: seeded [H7.4.1]", { bind: "lan" }, seeded],
    ["tailnet: seeded", { bind: "tailnet" }, seeded],
    [
      "custom: seeded, with its host",
      { bind: "custom", customBindHost: "10.0.0.5" },
      [...seeded, "http://10.0.0.5:18789"],
    ],
    ["custom that is seeded anyway: each once [H7.4.1]", { bind: "custom", customBindHost: "127.0.0.1" }, seeded],
    ["lan with a list: the list", { bind: "lan", controlUi: { allowedOrigins: [" https://a "] } }, ["https://a"]],
    ["loopback with a list: the list", { controlUi: { allowedOrigins: ["https://a", "*"] } }, ["https://a", "*"]],
    ["lan with an empty list: seeded", { bind: "lan", controlUi: { allowedOrigins: [] } }, seeded],
    ["lan with a blank list: seeded", { bind: "lan", controlUi: { allowedOrigins: ["", " "] } }, seeded],
    [
      "lan with the fallback flag: none",
      { bind: "lan", controlUi: { dangerouslyAllowHostHeaderOriginFallback: true } },
      [],
    ],
  ];
  for (const [why, section, origins] of rows)
    it(why, () => assert.deepEqual(effectiveOrigins(section, 18_789), origins));

  it("depend on the flag, and are checked behind proxies in modes without a secret", () => {
    const section = { controlUi: { allowedOrigins: ["https://a"], dangerouslyAllowHostHeaderOriginFallback: true } };
    const policy = { allowedOrigins: ["https://a"], hostHeaderFallback: true };
    assert.deepEqual(originPolicy(section, 1, "token"), { ...policy, ambient: false });
    assert.deepEqual(originPolicy(section, 1, "password"), { ...policy, ambient: false });
    assert.deepEqual(originPolicy(section, 1, "none"), { ...policy, ambient: true, ownPort: 1 });
    assert.deepEqual(originPolicy({}, 1, "trusted-proxy"), {
      allowedOrigins: [],
      hostHeaderFallback: false,
      ambient: true,
    });
  });
});
