import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  allowingStep,
  allowlistFor,
  type Platform,
  platformOf,
  PLATFORMS,
} from "../../../plugins/nodes/command-policy.ts";

/** Spec: protocol/methods-node.md §4, row by row: the platforms on which a command is allowed by default. */
const TABLE: [commands: string, platforms: string][] = [
  [
    "canvas.present canvas.hide canvas.navigate canvas.eval canvas.snapshot canvas.a2ui.push canvas.a2ui.pushJSONL canvas.a2ui.reset",
    "ios android macos unknown",
  ],
  ["camera.list", "ios android macos unknown"],
  ["location.get", "ios android macos unknown"],
  ["device.info device.status", "ios android macos"],
  ["device.permissions device.health", "android"],
  ["notifications.list notifications.actions", "android"],
  [
    "contacts.search calendar.events reminders.list photos.latest motion.activity motion.pedometer",
    "ios android macos",
  ],
  ["system.notify", "ios android macos linux windows unknown"],
  ["system.run.prepare system.run system.which browser.proxy", "macos linux windows"],
  ["camera.snap camera.clip screen.record contacts.add calendar.add reminders.add sms.send", ""],
  ["system.execApprovals.get system.execApprovals.set", ""],
];

describe("the command policy", () => {
  it("allows each command on the platforms of the table, and has no other defaults [W4.6]", () => {
    for (const platform of PLATFORMS) {
      const allowed = TABLE.filter(([, platforms]) => platforms.split(" ").includes(platform));
      const names = allowed.flatMap(([commands]) => commands.split(" "));
      assert.deepEqual([...allowlistFor(platform, {})].toSorted(), names.toSorted(), platform);
    }
  });

  const rules: [what: string, rules: Parameters<typeof allowlistFor>[1], command: string, allowed: boolean][] = [
    ["adds what is allowed", { allowCommands: ["camera.snap"] }, "camera.snap", true],
    ["takes away what is denied", { denyCommands: ["system.notify"] }, "system.notify", false],
    ["lets deny win", { allowCommands: ["camera.snap"], denyCommands: ["camera.snap"] }, "camera.snap", false],
    ["takes * for a name", { allowCommands: ["*"] }, "camera.snap", false],
    ["takes * for a name in deny, too", { denyCommands: ["*"] }, "system.notify", true],
    ["knows no patterns", { allowCommands: ["camera.*"] }, "camera.snap", false],
    ["is exact about blanks", { denyCommands: [" system.notify"] }, "system.notify", true],
  ];
  it("adds what is allowed and takes away what is denied, by exact names", () => {
    for (const [what, given, command, allowed] of rules)
      assert.equal(allowlistFor("macos", given).has(command), allowed, what);
  });

  const steps: [command: string, rules: Parameters<typeof allowingStep>[1], step: string][] = [
    ["camera.snap", {}, `svc config set gateway.nodes.allowCommands '["camera.snap"]'`],
    ["camera.snap", { allowCommands: ["a"] }, `svc config set gateway.nodes.allowCommands '["a","camera.snap"]'`],
    ["a", { denyCommands: ["a", "b"] }, `svc config set gateway.nodes.denyCommands '["b"]'`],
    ["a", { allowCommands: ["a"], denyCommands: ["a"] }, "svc config set gateway.nodes.denyCommands '[]'"],
    ["'; rm -rf ~; '", {}, "add it to gateway.nodes.allowCommands"],
    ["a", { denyCommands: ["a", "$(b)"] }, "remove it from gateway.nodes.denyCommands"],
  ];
  it("names the command that allows another one", () => {
    for (const [command, given, step] of steps) assert.equal(allowingStep(command, given), step);
  });

  const platforms: [platform: string | undefined, family: string | undefined, is: Platform][] = [
    ["ios", undefined, "ios"],
    ["android", "iPhone", "android"],
    ["macos", undefined, "macos"],
    ["Mac OS X", undefined, "macos"],
    ["darwin", undefined, "macos"],
    ["win32", undefined, "windows"],
    ["Windows 11", undefined, "windows"],
    ["linux", undefined, "linux"],
    [" Linux ", undefined, "linux"],
    ["freebsd", undefined, "unknown"],
    ["not-linux", undefined, "unknown"],
    ["", "iPad", "ios"],
    ["", "iPhone15,2", "ios"],
    ["other", "Android phone", "android"],
    [undefined, "MacBook", "macos"],
    [undefined, "Windows desktop", "windows"],
    [undefined, "linux box", "linux"],
    [undefined, "toaster", "unknown"],
    [undefined, undefined, "unknown"],
  ];
  it("recognizes a platform by its name, or else by the device family", () => {
    for (const [platform, family, is] of platforms)
      assert.equal(platformOf(platform, family), is, `${platform} ${family}`);
  });
});
