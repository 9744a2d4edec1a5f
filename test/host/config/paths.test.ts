import assert from "node:assert/strict";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, it } from "node:test";
import { type Environment, preparePaths, resolvePaths } from "../../../host/config/paths.ts";
import { tempDirectory } from "./scene.ts";

const HOME = "/home/ada";

describe("the paths of the gateway", () => {
  it("are below ~/.svc by default", () => {
    assert.deepEqual(resolvePaths({}, HOME), {
      stateDir: "/home/ada/.svc",
      configPath: "/home/ada/.svc/svc.json",
      configDir: "/home/ada/.svc",
      cacheDir: "/home/ada/.svc/cache/jiti",
      credentialsDir: "/home/ada/.svc/credentials",
      startupReport: "/home/ada/.svc/startup-report.json",
      home: HOME,
    });
  });

  const rows: [why: string, env: Environment, stateDir: string, configPath: string][] = [
    ["another state directory", { SVC_STATE_DIR: "/srv/svc" }, "/srv/svc", "/srv/svc/svc.json"],
    ["another file", { SVC_CONFIG_PATH: "/etc/svc.json5" }, "/home/ada/.svc", "/etc/svc.json5"],
    ["both", { SVC_STATE_DIR: "/srv/svc", SVC_CONFIG_PATH: "/etc/x.json" }, "/srv/svc", "/etc/x.json"],
    ["empty variables", { SVC_STATE_DIR: "", SVC_CONFIG_PATH: "" }, "/home/ada/.svc", "/home/ada/.svc/svc.json"],
    ["blank variables", { SVC_STATE_DIR: " ", SVC_CONFIG_PATH: "\t" }, "/home/ada/.svc", "/home/ada/.svc/svc.json"],
    ["blanks around", { SVC_STATE_DIR: " /srv/svc " }, "/srv/svc", "/srv/svc/svc.json"],
    ["another home", { SVC_HOME: "/srv/ada" }, "/srv/ada/.svc", "/srv/ada/.svc/svc.json"],
    ["a home below home", { SVC_HOME: "~/x", SVC_STATE_DIR: "~/s" }, "/home/ada/x/s", "/home/ada/x/s/svc.json"],
    ["a blank home", { SVC_HOME: " " }, "/home/ada/.svc", "/home/ada/.svc/svc.json"],
    ["a path below home", { SVC_STATE_DIR: "~/state" }, "/home/ada/state", "/home/ada/state/svc.json"],
    ["home itself", { SVC_STATE_DIR: "~" }, "/home/ada", "/home/ada/svc.json"],
    ["a name with a tilde", { SVC_STATE_DIR: "/srv/~x" }, "/srv/~x", "/srv/~x/svc.json"],
    ["a relative path", { SVC_STATE_DIR: "state" }, resolve("state"), resolve("state/svc.json")],
  ];
  for (const [why, env, stateDir, configPath] of rows) {
    it(`follow the environment: ${why}`, () => {
      const paths = resolvePaths(env, HOME);
      assert.deepEqual([paths.stateDir, paths.configPath], [stateDir, configPath]);
    });
  }

  it("in the file are relative to the file, not to the state directory", () =>
    assert.equal(resolvePaths({ SVC_CONFIG_PATH: "/etc/svc/svc.json" }, HOME).configDir, "/etc/svc"));
});

describe("the private directories", () => {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

  it("are created for their owner only; existing ones are made private", (t) => {
    const paths = resolvePaths({ SVC_STATE_DIR: join(tempDirectory(t), "new") });
    mkdirSync(paths.credentialsDir, { recursive: true });
    chmodSync(paths.credentialsDir, 0o755);
    preparePaths(paths);
    preparePaths(paths); // a second start finds them
    assert.deepEqual([paths.stateDir, paths.cacheDir, paths.credentialsDir].map(modeOf), ["700", "700", "700"]);
  });

  it("that cannot be created are named, with the next step", (t) => {
    const file = join(tempDirectory(t), "a-file");
    writeFileSync(file, "");
    const places = [file, join(file, "state"), ...(process.platform === "linux" ? ["/proc/svc-test/state"] : [])];
    for (const place of places)
      assert.throws(
        () => preparePaths(resolvePaths({ SVC_STATE_DIR: place })),
        (error: Error) => error.message.includes(dirname(place)) && error.message.includes("SVC_STATE_DIR"),
        place,
      );
  });
});
