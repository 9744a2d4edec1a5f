/** Spec: http/config.md §4.2. The fault tests fail each call to the file system in turn. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { sha256 } from "../../../host/config/parse.ts";
import { type Files, nodeFiles, removeLeftovers, writeConfigFile } from "../../../host/config/write-file.ts";
import { tempDirectory } from "./scene.ts";

const temporary = (path: string) => readdirSync(join(path, "..")).filter((name) => name.endsWith(".tmp"));
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const write = (path: string, text: string, files?: Files) => {
  const expectedHash = sha256(existsSync(path) ? readFileSync(path) : "");
  return writeConfigFile(path, text, files ? { expectedHash, files } : { expectedHash });
};

/** Records every file system call in order; call number `failing` fails before it does anything. */
function tapped(failing = -1): { files: Files; calls: string[]; at: (count: number, run: () => void) => void } {
  const calls: string[] = [];
  const hooks = new Map<number, () => void>();
  const step = (name: string) => {
    hooks.get(calls.length)?.();
    calls.push(name);
    if (calls.length - 1 === failing) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  };
  const handleTap = (handle: FileHandle, name: string) =>
    new Proxy(handle, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          if (key === "close") {
            await target.close(); // a failing close still closes
            return step(`close ${name}`);
          }
          step(`${String(key)} ${name}`);
          return value.apply(target, args) as unknown;
        };
      },
    });
  const files = new Proxy(nodeFiles, {
    get(target, key: keyof Files) {
      return async (...args: never[]) => {
        const name = basename(String(args[0])).replace(/\.\d+\.[0-9a-f]+\.tmp$/, ".tmp");
        step(`${key} ${name}`);
        const result: unknown = await (target[key] as (...args: never[]) => unknown)(...args);
        return key === "open" ? handleTap(result as FileHandle, name) : result;
      };
    },
  });
  return { files, calls, at: (count, run) => hooks.set(count, run) };
}

describe("a write of the configuration", () => {
  it("creates the file private, also below a missing directory", async (t) => {
    const path = join(tempDirectory(t), "new/deep/svc.json");
    await write(path, "{}\n");
    assert.deepEqual([readFileSync(path, "utf8"), modeOf(path), modeOf(join(path, ".."))], ["{}\n", "600", "700"]);
    assert.deepEqual(readdirSync(join(path, "..")), ["svc.json"], "no backup of nothing");
  });

  it("makes an existing file private", async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    writeFileSync(path, "{}", { mode: 0o644 });
    await write(path, "{a: 1}");
    assert.deepEqual([modeOf(path), modeOf(`${path}.bak`)], ["600", "600"]);
  });

  it("keeps the five previous texts, newest first, and other files", async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    writeFileSync(`${path}.bak.mine`, "mine");
    for (let version = 0; version <= 7; version++) await write(path, `${version}`);
    const kept = ["", ".bak", ".bak.1", ".bak.2", ".bak.3", ".bak.4"].map((end) => readFileSync(path + end, "utf8"));
    assert.deepEqual(kept, ["7", "6", "5", "4", "3", "2"]);
    assert.equal(readdirSync(join(path, "..")).length, 7);
    assert.equal(readFileSync(`${path}.bak.mine`, "utf8"), "mine");
  });

  for (const exists of [true, false]) {
    it(`keeps a link and writes its target, which exists: ${exists}; backups are next to the link`, async (t) => {
      const root = tempDirectory(t);
      mkdirSync(join(root, "real"));
      const [path, target] = [join(root, "svc.json"), join(root, "real/target.json")];
      if (exists) writeFileSync(target, "old");
      symlinkSync("real/target.json", path);
      await write(path, "new");
      assert.ok(lstatSync(path).isSymbolicLink());
      assert.deepEqual([readlinkSync(path), readFileSync(target, "utf8")], ["real/target.json", "new"]);
      assert.deepEqual(readdirSync(join(root, "real")), ["target.json"]);
      assert.equal(existsSync(`${path}.bak`), exists);
    });
  }

  it("does not write through a link at the path of a backup", async (t) => {
    const root = tempDirectory(t);
    const path = join(root, "svc.json");
    writeFileSync(path, "old");
    writeFileSync(join(root, "precious"), "precious");
    symlinkSync("precious", `${path}.bak`);
    await write(path, "new");
    assert.equal(readFileSync(join(root, "precious"), "utf8"), "precious");
    assert.equal(readFileSync(`${path}.bak`, "utf8"), "old");
  });

  it("is refused when another process wrote meanwhile, even between the first check and the rename", async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    writeFileSync(path, "theirs");
    await assert.rejects(writeConfigFile(path, "mine", { expectedHash: sha256("old") }), { code: "INVALID_REQUEST" });
    const { files, calls } = tapped();
    await write(path, "first", files);
    const secondLook = calls.findLastIndex((call) => call === "readFile svc.json");
    const late = tapped();
    late.at(secondLook, () => writeFileSync(path, "theirs again"));
    await assert.rejects(write(path, "mine", late.files), { code: "INVALID_REQUEST", message: /config changed/ });
    assert.equal(readFileSync(path, "utf8"), "theirs again");
    assert.deepEqual(temporary(path), []);
  });

  it("syncs the text before the rename, and the directory after it", async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    writeFileSync(path, "old");
    const { files, calls } = tapped();
    await write(path, "new", files);
    const order = [
      "writeFile svc.json.tmp",
      "sync svc.json.tmp",
      "sync svc.json.bak.tmp",
      "rename svc.json.bak.tmp",
      "rename svc.json.tmp",
    ].map((call) => calls.indexOf(call));
    const isOrdered = order.every((at, index) => at >= 0 && at > (order[index - 1] ?? -1));
    assert.ok(isOrdered, calls.join("\n"));
    assert.ok(calls.lastIndexOf(`sync ${basename(join(path, ".."))}`) > calls.indexOf("rename svc.json.tmp"));
    assert.ok(!calls.includes("rename svc.json"), "the file itself is never moved away: it is there at every moment");
    assert.ok(!calls.some((call) => /^(writeFile|truncate|open) svc\.json$/.test(call)), "nor written in place");
  });

  it("that fails at any step leaves the old or the new text, no temporary file, and names the cause", async (t) => {
    const fresh = () => {
      const path = join(tempDirectory(t), "svc.json");
      writeFileSync(path, "old");
      writeFileSync(`${path}.bak`, "older");
      return path;
    };
    const dry = tapped();
    await write(fresh(), "new", dry.files);
    assert.ok(dry.calls.length > 15, dry.calls.join("\n"));
    const outcomes = new Set<string>();
    for (let failing = 0; failing < dry.calls.length; failing++) {
      const path = fresh();
      const { files, calls } = tapped(failing);
      await assert.rejects(
        write(path, "new", files),
        { name: "GatewayError", code: "UNAVAILABLE", message: /svc\.json could not be written: no space left; / },
        `step ${failing}: ${calls[failing]}`,
      );
      outcomes.add(readFileSync(path, "utf8"));
      assert.deepEqual(temporary(path), [], `step ${failing}: ${calls[failing]}`);
      const kept = readdirSync(join(path, "..")).map((name) => readFileSync(join(path, "..", name), "utf8"));
      assert.ok(kept.includes("older"), `the backup is not lost at step ${failing}`);
    }
    assert.deepEqual([...outcomes].sort(), ["new", "old"]);
  });

  it("succeeds where a directory cannot be synced", async (t) => {
    const path = join(tempDirectory(t), "svc.json");
    const open = (async (name: string, ...rest: []) => {
      const handle = await nodeFiles.open(name, ...rest);
      if (!name.endsWith(".tmp"))
        handle.sync = () => Promise.reject(Object.assign(new Error("not here"), { code: "EINVAL" }));
      return handle;
    }) as typeof nodeFiles.open;
    await write(path, "new", { ...nodeFiles, open });
    assert.equal(readFileSync(path, "utf8"), "new");
  });
});

describe("temporary files of killed writers", () => {
  it("are removed, and no other files", async (t) => {
    const directory = tempDirectory(t);
    const { pid: gone } = spawnSync(process.execPath, ["-e", ""]);
    const left = ["svc.json", "svc.json.bak", "svc.json.lock"].map((name) => `${name}.${gone}.0123456789ab.tmp`);
    const ofOthers = [`svc.json.${process.pid}.0123456789ab.tmp`, `other.${gone}.0123456789ab.tmp`];
    const kept = ["svc.json", "svc.json.bak", ...ofOthers];
    for (const name of [...left, ...kept]) writeFileSync(join(directory, name), "{}");
    assert.deepEqual((await removeLeftovers(join(directory, "svc.json"))).toSorted(), left.toSorted());
    assert.deepEqual(readdirSync(directory).toSorted(), kept.toSorted());
    assert.deepEqual(await removeLeftovers(join(directory, "no-such", "svc.json")), []);
  });

  it("are also removed next to the target of a link", async (t) => {
    const directory = tempDirectory(t);
    const { pid: gone } = spawnSync(process.execPath, ["-e", ""]);
    mkdirSync(join(directory, "real"));
    symlinkSync("real/target.json", join(directory, "svc.json"));
    const left = [`svc.json.bak.${gone}.0123456789ab.tmp`, `real/target.json.${gone}.0123456789ab.tmp`];
    for (const name of left) writeFileSync(join(directory, name), "{}");
    assert.equal((await removeLeftovers(join(directory, "svc.json"))).length, 2);
    for (const name of left) assert.ok(!existsSync(join(directory, name)), name);
  });
});
