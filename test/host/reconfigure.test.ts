import { resolvePaths } from "../../host/config/paths.ts";
/** Effects of a changed configuration on the host, by `gateway.reload.mode` and author of the change. Spec: http/config.md §5. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ReloadKind } from "@svc/sdk/config";
import { createFakeClock } from "@svc/sdk/testing";
import { Access } from "../../host/auth/access.ts";
import { resolveAuth } from "../../host/auth/mode.ts";
import { givenConfig } from "../../host/config/file.ts";
import type { ConfigTransition } from "../../host/config/store.ts";
import { HookBus } from "../../host/hooks/hook-bus.ts";
import type { Kernel } from "../../host/kernel/kernel.ts";
import { logSettings } from "../../host/logs/settings.ts";
import { createReconfigure, type ReconfigureOptions } from "../../host/reconfigure.ts";

/** Records every call. */
function scene(possible = true, apartMs = 0) {
  const did: string[] = [];
  const log = (text: string) => (_: object, message: string) => void did.push(`${text}: ${message}`);
  const access = new Access({ mode: "token", token: "first" }, {}, 18_789, createFakeClock());
  const kernel = {
    sections: () => [{ section: "shop", plugin: "shop", schema: undefined }],
    reconfigure: (ids: readonly string[], hot: ReadonlySet<string>) => {
      did.push(`plugins ${ids.join(" ")} hot ${[...hot].join(" ")}`);
      return Promise.resolve([]);
    },
  } as unknown as Kernel;
  const options: ReconfigureOptions = {
    settings: {
      auth: (section) => resolveAuth(section ?? {}, {}, () => "generated"),
      log: (section) => logSettings({ level: "warn", ...section }, { stateDir: "/nowhere", home: "/nowhere" }),
      paths: resolvePaths({}, "/nowhere"),
      secrets: () => [],
      use: () => void did.push("use"),
      keepAsLastGood: async () => undefined,
    },
    access,
    hostOnly: { refusal: () => undefined },
    kernel,
    hooks: new HookBus(),
    log: {
      debug() {},
      info: log("info"),
      warn: log("warn"),
      error: log("error"),
      secrets: { know() {} },
      use: ({ console }) => void did.push(`level ${console.level}`),
    },
    lookAtCertificate: () => Promise.resolve(),
    restarts: {
      possible,
      schedule: ({ reason, delayMs = "" }) => (
        did.push(`restart ${reason}${delayMs && ` in ${delayMs}`}`),
        { delayMs: 0, coalesced: false, cooldownMsApplied: 0 }
      ),
    },
    restartDelayMs: () => apartMs,
    port: () => 18_789,
    planner: { plan: () => ({ sources: [], disabled: new Set() }) },
    closeDead: async (reason) => void did.push(`close ${reason}`),
    webhooks: { issues: () => [], pluginIssues: () => [], use: () => undefined },
  };
  const { apply, validate } = createReconfigure(options);
  const change = (
    config: Record<string, unknown>,
    kinds: Record<string, ReloadKind>,
    action?: string,
    restartsItself = false,
  ): ConfigTransition => ({
    previous: givenConfig("/x", {}),
    next: givenConfig("/x", config),
    changed: Object.keys(kinds),
    kinds: new Map(Object.entries(kinds)),
    ...(action ? { author: { actor: "test", action } } : {}),
    restartsItself,
  });
  return { did, apply, validate, change };
}

const mode = (name: string) => ({ gateway: { auth: { token: "first" }, reload: { mode: name } } });
const HOT_DID = ["use", "level warn", "plugins  hot "];
const both = { "logging.level": "hot", "gateway.port": "restart" } as const;

describe("a file edited by hand", () => {
  const rows: [mode: string, kinds: Record<string, ReloadKind>, did: string[]][] = [
    ["hybrid", { "logging.level": "hot" }, HOT_DID],
    ["hybrid", both, [...HOT_DID, "restart configuration: gateway.port"]],
    [
      "hot",
      both,
      [...HOT_DID, "warn: gateway.reload.mode is hot; these keys take effect at the next restart: gateway.port"],
    ],
    ["restart", { "logging.level": "hot" }, ["restart configuration: logging.level"]],
    [
      "off",
      both,
      ["info: the configuration file changed, but gateway.reload.mode is off; the change takes effect after a restart"],
    ],
  ];
  for (const [name, kinds, expected] of rows) {
    it(`in mode ${name}, with ${Object.keys(kinds).join(" and ")}`, async () => {
      const { did, apply, change } = scene();
      await apply(change(mode(name), kinds));
      assert.deepEqual(did, expected);
    });
  }

  it("or changed at another gateway restarts this one later than the other", async () => {
    const { did, apply, change } = scene(true, 3_000);
    await apply(change(mode("hybrid"), both));
    assert.equal(did.at(-1), "restart configuration: gateway.port in 5000");
    await apply(change(mode("hybrid"), both, "config.set"));
    assert.equal(did.at(-1), "restart configuration: gateway.port");
  });

  it("that needs an impossible restart causes a log line", async () => {
    const { did, apply, change } = scene(false);
    await apply(change(mode("hybrid"), both));
    assert.equal(did.at(-1), "warn: these keys take effect after a restart of the gateway: gateway.port");
  });
});

describe("a change written through the gateway", () => {
  for (const name of ["hybrid", "restart", "off"]) {
    it(`is also used in mode ${name}`, async () => {
      const { did, apply, change } = scene();
      await apply(change(mode(name), both, "config.set"));
      assert.deepEqual(did, [...HOT_DID, "restart configuration: gateway.port"]);
    });
  }
  it("whose author restarts the gateway leaves that to the author, for any action name", async () => {
    const { did, apply, change } = scene();
    await apply(change(mode("hybrid"), both, "any", true));
    assert.deepEqual(did, HOT_DID);
  });
});
