/** Plugins whose code is owned or writable by other users are not loaded. */
import assert from "node:assert/strict";
import { chmod, chown, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { testGateway } from "@svc/sdk/testing";
import { refuseForeignCode } from "../../../host/kernel/ownership.ts";
import { directory } from "../../directory.ts";

const user = process.getuid?.() ?? assert.fail("no users here");
const CODE = `import { definePlugin } from "@svc/sdk";\nexport default definePlugin({ id: "things", api: "^1.0.0", setup() {} });\n`;

/** `<root>/outer/things` with `plugin.ts`, `lib/part.ts` and a dependency. */
async function scene(t: TestContext) {
  const root = directory(t);
  const plugin = join(root, "outer/things");
  for (const path of ["lib/part.ts", "node_modules/dep/index.js", "plugin.ts"]) {
    await mkdir(dirname(join(plugin, path)), { recursive: true, mode: 0o755 });
    await writeFile(join(plugin, path), CODE, { mode: 0o644 });
  }
  const svc = { id: "things", api: "^1.0.0", entry: "./plugin.ts" };
  await writeFile(join(plugin, "package.json"), JSON.stringify({ name: "things", type: "module", svc }));
  const options = { configDir: join(root, "elsewhere"), user };
  return { root, plugin, refuse: (path = plugin) => refuseForeignCode(path, options) };
}

describe("the files of a plugin", () => {
  for (const path of ["", "plugin.ts", "package.json", "lib", "lib/part.ts"])
    for (const mode of [0o666, 0o757, 0o777]) {
      it(`are refused when ${path || "the directory"} has mode ${mode.toString(8)}`, async (t) => {
        const { plugin, refuse } = await scene(t);
        await refuse();
        await chmod(join(plugin, path), mode);
        const says = new RegExp(`mode ${mode.toString(8)}\\) is writable by everyone\nNext: chmod .*go-w '${plugin}'`);
        await assert.rejects(refuse(), says);
      });
    }

  it("are refused when writable by a group other than the owner's private group", async (t) => {
    const { plugin, refuse } = await scene(t);
    await chmod(join(plugin, "plugin.ts"), 0o664);
    if (user !== 0) return; // only root gives files to groups
    await refuse();
    await chown(join(plugin, "plugin.ts"), 0, 54_321);
    await chmod(join(plugin, "plugin.ts"), 0o664);
    await assert.rejects(refuse(), /plugin\.ts \(owner 0, group 54321, mode 664\) is writable by group 54321\n/);
  });

  it("are refused when a directory above them is writable by everyone, unless it has the sticky bit", async (t) => {
    const { root, plugin, refuse } = await scene(t);
    await chmod(join(root, "outer"), 0o777);
    for (const path of [plugin, join(plugin, "plugin.ts")])
      await assert.rejects(refuse(path), new RegExp(`Next: chmod go-w '${root}/outer'`));
    await chmod(join(root, "outer"), 0o1777);
    await refuse();
    await chmod(join(root, "outer"), 0o777);
    await refuseForeignCode(plugin, { configDir: plugin, user }); // anyone who can change this directory can change the configuration
  });

  it("are refused behind links in directories that others may write", async (t) => {
    const { root, plugin, refuse } = await scene(t);
    await mkdir(join(root, "open"));
    await symlink(plugin, join(root, "open/hop"));
    await symlink(join(root, "open/hop"), join(root, "things"));
    await refuse(join(root, "things"));
    await chmod(join(root, "open"), 0o777);
    await assert.rejects(refuse(join(root, "things")), /open \(.* is writable by everyone/);
    await chmod(join(root, "open"), 0o755);
    await chmod(join(plugin, "lib/part.ts"), 0o666);
    await assert.rejects(refuse(join(root, "things")), /part\.ts \(.* is writable by everyone/);
    await symlink("circle", join(root, "circle"));
    await assert.rejects(refuse(join(root, "circle")), /more than 40 symbolic links/);
  });

  it("are refused when they belong to another user than the gateway's and root", async (t) => {
    const { plugin, refuse } = await scene(t);
    if (user === 0) {
      await chown(join(plugin, "lib/part.ts"), 54_321, 54_321);
      await assert.rejects(refuse(), /part\.ts \(owner 54321, .*belongs to another user.*\nNext: chown -R 0 '/);
    } else
      await assert.rejects(refuseForeignCode(plugin, { configDir: "/", user: user + 1 }), /belongs to another user/);
    await refuseForeignCode(plugin, { configDir: "/", user: undefined }); // a system without owners
  });

  for (const shape of ["directory", "file", "package"] as const)
    it(`prevent the import of a ${shape} if others may write them, and the gateway runs without it`, async (t) => {
      const { root, plugin } = await scene(t);
      await chmod(join(plugin, "plugin.ts"), 0o666);
      await mkdir(join(root, "node_modules"));
      await symlink(plugin, join(root, "node_modules/things"));
      const spec = { directory: plugin, file: join(plugin, "plugin.ts"), package: "things" }[shape];
      const plugins = shape === "package" ? { use: [spec] } : { use: [], load: { paths: [spec] } };
      const { gateway } = await testGateway(t, { stateDir: root, config: { plugins } });
      const [report] = gateway.plugins();
      assert.match(report?.reason ?? "", /plugin\.ts \(owner \d+, group \d+, mode 666\) is writable by everyone/);
      assert.notEqual(report?.state, "active");
    });
});
