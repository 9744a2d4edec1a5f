import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { matches, unavailable } from "@svc/sdk";
import { agents as contract } from "@svc/sdk/agents";
import { type AdminOptions, NOW, openAdmin } from "./admin-fixture.ts";
import { principal } from "../script.ts";
import { modeOf } from "../temporary.ts";

type Admin = Awaited<ReturnType<typeof openAdmin>>;

const TWO: AdminOptions = { file: { agents: { list: [{ id: "main" }, { id: "ops", workspace: "~/ops" }] } } };
const STAMP = new Date(NOW).toISOString().replaceAll(":", "-");

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );
const listIn = async ({ config }: Admin) => ((await config.read())["agents"] as { list?: object[] } | undefined)?.list; // what we wrote

describe("agents.create", () => {
  it("makes workspace and directories, says who it is, writes the configuration, and can be used at once", async (t) => {
    const gateway = await openAdmin(t);
    const created = await gateway.create({ name: "Ada Lovelace", workspace: "~/ada", emoji: "🦉", avatar: "ada.png" });
    const workspace = gateway.at("ada");
    assert.deepEqual(created, { ok: true, agentId: "ada-lovelace", name: "Ada Lovelace", workspace });
    assert.ok(matches(contract.create.result, created));
    assert.deepEqual(await listIn(gateway), [{ id: "main" }, { id: "ada-lovelace", name: "Ada Lovelace", workspace }]);
    assert.deepEqual(gateway.config.authors, [{ actor: principal.id, action: "agents.create" }]);
    assert.equal(modeOf(await stat(workspace)), "700");
    assert.equal(modeOf(await stat(join(gateway.stateDir, "agents", "ada-lovelace", "sessions"))), "700");
    const identity = await readFile(join(workspace, "IDENTITY.md"), "utf8");
    assert.match(identity, /- Name: Ada Lovelace\n- Emoji: 🦉\n- Avatar: ada\.png\n$/);
    assert.equal(gateway.live.has("ada-lovelace"), true);
    assert.equal((await gateway.identity({ agentId: "ada-lovelace" })).name, "Ada Lovelace");
    assert.equal(gateway.live.defaultId, "main");
  });

  it("adds to the list there is, and to the files there are", async (t) => {
    const gateway = await openAdmin(t, TWO);
    await gateway.put(gateway.at("ada", "IDENTITY.md"), "# Mine\n");
    await gateway.put(gateway.at("ada", "code.ts"), "code");
    await gateway.create({ name: "Ada", workspace: gateway.at("ada") });
    assert.equal((await listIn(gateway))?.length, 3);
    assert.equal(await readFile(gateway.at("ada", "IDENTITY.md"), "utf8"), "# Mine\n- Name: Ada\n");
    assert.deepEqual((await readdir(gateway.at("ada"))).toSorted(), ["IDENTITY.md", "code.ts"]);
  });

  it("lets no value bring lines of its own", async (t) => {
    const gateway = await openAdmin(t);
    const name = "Ada\n- Avatar: x\r\u2028\u0007 y";
    await gateway.create({ name, workspace: "~/ada", emoji: "a\nb" });
    assert.match(
      await readFile(gateway.at("ada", "IDENTITY.md"), "utf8"),
      /- Name: Ada - Avatar: x y\n- Emoji: a b\n$/,
    );
  });

  const refused: [what: string, params: object, message: RegExp][] = [
    ["the reserved id", { name: "Main" }, /"main" is reserved/],
    ["a name without letters of an id", { name: "日本" }, /has none; choose another name/],
    ["a blank name", { name: " " }, /has none/],
    ["an id that is there", { name: "OPS" }, /"ops" already exists/],
    ["a relative workspace", { workspace: "ada" }, /relative path/],
    ["the root", { workspace: "/" }, /contains the state directory/],
    ["another agent's workspace", { workspace: "~/ops" }, /workspace of agent "ops"/],
    ["the same by a detour", { workspace: "~/x/../ops/" }, /workspace of agent "ops"/],
    ["an avatar that is a script", { avatar: "javascript:alert(1)" }, /avatar: use/],
    ["an avatar that is a sentence", { avatar: "who knows" }, /avatar: use/],
  ];
  for (const [what, params, message] of refused) {
    it(`refuses ${what} and makes nothing`, async (t) => {
      const gateway = await openAdmin(t, TWO);
      const wanted = { name: "Ada", workspace: "~/ada", ...params };
      await assert.rejects(gateway.create(wanted), { code: "INVALID_REQUEST", message });
      assert.deepEqual([await readdir(gateway.home), gateway.config.authors], [[], []]);
      assert.deepEqual(await readdir(gateway.stateDir), ["svc.json"]);
    });
  }

  const inside: [string, (gateway: Admin) => string][] = [
    ["the state directory", ({ stateDir }) => stateDir],
    ["what holds it", ({ stateDir }) => join(stateDir, "..")],
    ["where secrets lie", ({ stateDir }) => join(stateDir, "credentials")],
    ["where agents have their sessions", ({ stateDir }) => join(stateDir, "agents", "ops")],
    ["another agent's workspace", (gateway) => gateway.at("ops")],
  ];
  for (const [what, path] of inside) {
    it(`refuses ${what} as a workspace, also by a link`, async (t) => {
      const gateway = await openAdmin(t, TWO);
      await symlink(path(gateway), gateway.at("link"));
      for (const workspace of [path(gateway), "~/link"]) {
        await assert.rejects(gateway.create({ name: "Ada", workspace }), {
          code: "INVALID_REQUEST",
          message: /choose/,
        });
      }
      assert.deepEqual(await readdir(gateway.stateDir), ["svc.json"]);
    });
  }

  it("refuses a file as workspace, and an IDENTITY.md that is a link", async (t) => {
    const gateway = await openAdmin(t);
    await writeFile(gateway.at("file"), "x");
    const refusal = { code: "INVALID_REQUEST", message: /cannot be used \((EEXIST|ENOTDIR)\); choose another/ };
    await assert.rejects(gateway.create({ name: "Ada", workspace: "~/file" }), refusal);
    await assert.rejects(gateway.create({ name: "Ada", workspace: "~/file/below" }), refusal);
    await gateway.put(gateway.at("secret"), "secret");
    await mkdir(gateway.at("ada"));
    await symlink(gateway.at("secret"), gateway.at("ada", "IDENTITY.md"));
    await assert.rejects(gateway.create({ name: "Ada", workspace: "~/ada" }), {
      code: "INVALID_REQUEST",
      message: /symbolic link/,
    });
    assert.equal(await readFile(gateway.at("secret"), "utf8"), "secret");
    assert.deepEqual(await readdir(gateway.stateDir), ["svc.json"]);
  });

  it("has made the directories before the configuration names the agent", async (t) => {
    const seen: boolean[] = [];
    const gateway: Admin = await openAdmin(t, {
      edit: (real) => async (author, decide) => {
        seen.push(await exists(gateway.at("ada", "IDENTITY.md")));
        seen.push(await exists(join(gateway.stateDir, "agents", "ada", "sessions")));
        return real(author, decide);
      },
    });
    await gateway.create({ name: "Ada", workspace: "~/ada" });
    assert.deepEqual(seen, [true, true]);
  });

  it("can be asked again after the configuration could not be written, and says nothing twice", async (t) => {
    let broken = true;
    const gateway = await openAdmin(t, {
      edit: (real) => (author, decide) => (broken ? unavailable("the disk is full") : real(author, decide)),
    });
    const wanted = { name: "Ada", workspace: "~/ada" };
    await assert.rejects(gateway.create(wanted), { code: "UNAVAILABLE" });
    assert.equal(gateway.live.has("ada"), false);
    assert.deepEqual((await gateway.list()).agents.map(({ id }) => id), ["main"]); // prettier-ignore
    broken = false;
    await gateway.create(wanted);
    const identity = await readFile(gateway.at("ada", "IDENTITY.md"), "utf8");
    assert.equal(identity.match(/Name: Ada/g)?.length, 1);
  });

  it("makes one agent of one id, however many ask at a time", async (t) => {
    const gateway = await openAdmin(t);
    const asked = Array.from({ length: 5 }, (_, n) => gateway.create({ name: "Ada", workspace: `~/ada${n}` }));
    const results = await Promise.allSettled(asked);
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((await listIn(gateway))?.length, 2);
  });

  it("makes all agents of different ids that are asked for at a time", async (t) => {
    const gateway = await openAdmin(t);
    await Promise.all(["a", "b", "c"].map((name) => gateway.create({ name, workspace: `~/${name}` })));
    assert.deepEqual(gateway.live.list().map(({ id }) => id), ["main", "a", "b", "c"]); // prettier-ignore
  });

  it("leaves no workspace to two agents that ask for it at a time", async (t) => {
    const gateway = await openAdmin(t);
    const asked = ["a", "b"].map((name) => gateway.create({ name, workspace: "~/shared" }));
    const results = await Promise.allSettled(asked);
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  });
});

describe("agents.update", () => {
  it("changes what is given, in the configuration and at once", async (t) => {
    const gateway = await openAdmin(t, TWO);
    const params = { agentId: "OPS", name: "Operations", model: "p/two", avatar: "O", workspace: "~/ops2" };
    assert.deepEqual(await gateway.update(params), { ok: true, agentId: "ops" });
    const workspace = gateway.at("ops2");
    const entry = { id: "ops", workspace, name: "Operations", model: "p/two", identity: { avatar: "O" } };
    assert.deepEqual(await listIn(gateway), [{ id: "main" }, entry]);
    const { name, models, workspace: now } = gateway.live.settings("ops");
    assert.deepEqual([name, models, now], ["Operations", ["p/two"], workspace]);
    assert.equal(modeOf(await stat(workspace)), "700");
    assert.deepEqual(gateway.config.authors, [{ actor: principal.id, action: "agents.update" }]);
  });

  it("tells IDENTITY.md about a new name, unless the agent calls itself something else", async (t) => {
    const gateway = await openAdmin(t);
    await gateway.create({ name: "Ada", workspace: "~/ada" });
    await gateway.update({ agentId: "ada", name: "Bea" });
    assert.equal((await gateway.identity({ agentId: "ada" })).name, "Bea");
    await gateway.filesSet("ada", "IDENTITY.md", "- Name: Me\n");
    await gateway.update({ agentId: "ada", name: "Cleo" });
    assert.equal((await gateway.identity({ agentId: "ada" })).name, "Me");
  });

  it("changes the built-in agent", async (t) => {
    const gateway = await openAdmin(t);
    await gateway.update({ agentId: "main", name: "Home", avatar: "M" });
    assert.deepEqual(await listIn(gateway), [{ id: "main", name: "Home", identity: { avatar: "M" } }]);
  });

  const refused: [string, object, string][] = [
    ["an agent that is not there", { agentId: "ghost", name: "x" }, "NOT_FOUND"],
    ["a model that is not there", { model: "p/none" }, "NOT_FOUND"],
    ["a blank name", { name: " \n" }, "INVALID_REQUEST"],
    ["a relative workspace", { workspace: "x" }, "INVALID_REQUEST"],
    ["an avatar that is a sentence", { avatar: "who knows" }, "INVALID_REQUEST"],
  ];
  for (const [what, params, code] of refused) {
    it(`refuses ${what} with ${code}`, async (t) => {
      const gateway = await openAdmin(t, TWO);
      await assert.rejects(gateway.update({ agentId: "ops", ...params }), { code });
      assert.deepEqual(gateway.config.authors, []);
    });
  }

  it("may keep its own workspace, and not take another's", async (t) => {
    const gateway = await openAdmin(t, TWO);
    await gateway.update({ agentId: "ops", workspace: "~/ops" });
    const taken = gateway.update({ agentId: "main", workspace: "~/ops" });
    await assert.rejects(taken, { code: "INVALID_REQUEST", message: /agent "ops"/ });
  });

  it("loses nothing when several change one agent at a time", async (t) => {
    const gateway = await openAdmin(t, TWO);
    await Promise.all([
      gateway.update({ agentId: "ops", name: "O" }),
      gateway.update({ agentId: "ops", model: "p/two" }),
      gateway.update({ agentId: "ops", avatar: "O" }),
    ]);
    const [, entry] = (await listIn(gateway)) ?? [];
    assert.deepEqual(entry, { id: "ops", workspace: "~/ops", name: "O", model: "p/two", identity: { avatar: "O" } });
  });
});

describe("agents.delete", () => {
  const bindings = [{ agentId: "Ops", match: { channel: "a" } }, { agentId: "main" }, { agentId: "ops" }];
  const trashOf = ({ stateDir }: Admin) => join(stateDir, "trash", `ops-${STAMP}`);

  async function withFiles(t: Parameters<typeof openAdmin>[0], options: AdminOptions = {}): Promise<Admin> {
    const gateway = await openAdmin(t, { file: { agents: TWO.file?.agents ?? {}, bindings }, ...options });
    await gateway.put(gateway.at("ops", "SOUL.md"), "kind");
    await gateway.put(join(gateway.stateDir, "agents", "ops", "sessions", "x"), "x");
    return gateway;
  }

  it("takes it off list and bindings, and moves its files to the trash", async (t) => {
    const gateway = await withFiles(t);
    const deleted = await gateway.delete({ agentId: "ops" });
    assert.deepEqual(deleted, { ok: true, agentId: "ops", removedBindings: 2, trash: trashOf(gateway) });
    assert.ok(matches(contract.delete.result, deleted));
    assert.deepEqual(await gateway.config.read(), {
      agents: { list: [{ id: "main" }] },
      bindings: [{ agentId: "main" }],
    });
    assert.equal(await readFile(join(trashOf(gateway), "workspace", "SOUL.md"), "utf8"), "kind");
    assert.equal(await readFile(join(trashOf(gateway), "agent", "sessions", "x"), "utf8"), "x");
    assert.deepEqual([await exists(gateway.at("ops")), gateway.live.has("ops")], [false, false]);
    assert.equal(modeOf(await stat(trashOf(gateway))), "700");
    assert.deepEqual(gateway.config.authors, [{ actor: principal.id, action: "agents.delete" }]);
  });

  it("moves a directory of its own, too, and not one it shares", async (t) => {
    const shared = [
      { id: "ada", agentDir: "~/a" },
      { id: "bea", agentDir: "~/a" },
      { id: "cleo", agentDir: "~/c" },
    ];
    const gateway = await openAdmin(t, { file: { agents: { list: [{ id: "main" }, ...shared] } } });
    await gateway.put(gateway.at("a", "x"), "x");
    await gateway.put(gateway.at("c", "x"), "x");
    assert.match((await gateway.delete({ agentId: "ada" })).kept?.[0] ?? "", /is in use/);
    assert.equal((await gateway.delete({ agentId: "cleo" })).kept, undefined);
    assert.deepEqual(await readdir(gateway.home), ["a"]);
  });

  it("leaves files and conversations with deleteFiles: false", async (t) => {
    const gateway = await withFiles(t, { archiveSessions: () => assert.fail("archived") });
    const deleted = await gateway.delete({ agentId: "ops", deleteFiles: false });
    assert.deepEqual(deleted, { ok: true, agentId: "ops", removedBindings: 2 });
    assert.equal(await exists(gateway.at("ops", "SOUL.md")), true);
    assert.equal(await exists(join(gateway.stateDir, "trash")), false);
  });

  it("archives its conversations once nobody can start new ones", async (t) => {
    const archived: unknown[] = [];
    const gateway: Admin = await withFiles(t, {
      archiveSessions: async (agentId, who) => {
        archived.push(agentId, who.id, gateway.live.has("ops"));
        return ["session agent:ops:x: still active"];
      },
    });
    const { kept } = await gateway.delete({ agentId: "ops" });
    assert.deepEqual(archived, ["ops", principal.id, false]);
    assert.deepEqual(kept, ["session agent:ops:x: still active"]);
    assert.equal(gateway.warnings.length, 1);
  });

  it("says nothing of a trash when there was nothing to move", async (t) => {
    const gateway = await openAdmin(t, TWO);
    assert.deepEqual(await gateway.delete({ agentId: "ops" }), { ok: true, agentId: "ops", removedBindings: 0 });
  });

  const kept: [string, workspace: string, other: string][] = [
    ["holds another agent's files", "~/ops", "~/ops/inner"],
    ["is another agent's, too", "~/ops", "~/ops"],
  ];
  for (const [what, workspace, other] of kept) {
    it(`leaves a workspace that ${what}, and says so`, async (t) => {
      const list = [{ id: "main" }, { id: "ops", workspace }, { id: "ada", workspace: other }];
      const gateway = await openAdmin(t, { file: { agents: { list } } });
      await gateway.put(gateway.at("ops", "SOUL.md"), "kind");
      await mkdir(gateway.at("ops", "inner"));
      const deleted = await gateway.delete({ agentId: "ops" });
      assert.match(deleted.kept?.[0] ?? "", /is in use/);
      assert.equal(await exists(gateway.at("ops", "SOUL.md")), true);
    });
  }

  it("leaves a home directory where it is", async (t) => {
    const gateway = await openAdmin(t, { file: { agents: { list: [{ id: "main" }, { id: "ops", workspace: "~" }] } } });
    assert.equal((await gateway.delete({ agentId: "ops" })).kept?.length, 1);
    assert.equal(await exists(gateway.home), true);
  });

  it("moves a link, not what it leads to", async (t) => {
    const gateway = await openAdmin(t, TWO);
    await gateway.put(gateway.at("real", "x"), "x");
    await symlink(gateway.at("real"), gateway.at("ops"));
    await gateway.delete({ agentId: "ops" });
    assert.deepEqual([await exists(gateway.at("real", "x")), await exists(gateway.at("ops"))], [true, false]);
  });

  const refused: [string, string, string, RegExp][] = [
    ["the reserved agent", "main", "INVALID_REQUEST", /cannot be deleted/],
    ["an agent that is not there", "ghost", "NOT_FOUND", /agents\.list/],
    ["nobody", " ", "NOT_FOUND", /agents\.list/],
  ];
  for (const [what, agentId, code, message] of refused) {
    it(`refuses ${what} with ${code}`, async (t) => {
      const gateway = await withFiles(t);
      await assert.rejects(gateway.delete({ agentId }), { code, message });
      assert.deepEqual([gateway.config.authors, await exists(gateway.at("ops"))], [[], true]);
    });
  }

  it("moves nothing when the configuration could not be written", async (t) => {
    const gateway = await withFiles(t, { edit: () => () => unavailable("the disk is full") });
    await assert.rejects(gateway.delete({ agentId: "ops" }), { code: "UNAVAILABLE" });
    assert.deepEqual([await exists(gateway.at("ops", "SOUL.md")), gateway.live.has("ops")], [true, true]);
  });

  it("leaves nothing half done when the same id is deleted and created at a time", async (t) => {
    const gateway = await withFiles(t);
    const [deleted, created] = await Promise.all([
      gateway.delete({ agentId: "ops" }),
      gateway.create({ name: "Ops", workspace: "~/ops" }),
    ]);
    assert.deepEqual([deleted.ok, created.ok], [true, true]);
    assert.equal(gateway.live.has("ops"), true);
    assert.equal(await exists(join(gateway.stateDir, "agents", "ops", "sessions", "x")), false);
    assert.equal(await exists(gateway.at("ops", "IDENTITY.md")), true);
    await assert.rejects(Promise.all([gateway.delete({ agentId: "ops" }), gateway.delete({ agentId: "ops" })]), {
      code: "NOT_FOUND",
    });
  });
});
