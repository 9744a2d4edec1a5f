/** The view Channels in a real browser, with a channel that logs in with a QR code. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { channelLogin, channelPairing, channels } from "@svc/sdk/channels";
import { config } from "@svc/sdk/config";
import { root } from "../../checkout.ts";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { openWith } from "./fewer-rights.ts";
import { fitsWidth } from "./layout.ts";

const skip = without("chromium");
const SECRET = "secret-of-the-bird";
const birds = (bird: object) => ({
  config: {
    plugins: { load: { paths: [join(root, "test/plugins/control-panel/bird.ts")] } },
    channels: { bird },
  },
});

it("shows the accounts, lets people in by code, and changes settings", { skip, timeout: 120_000 }, async (t) => {
  const accounts = { default: { birdToken: SECRET }, work: { birdToken: "bad", name: "Work <script>" } };
  const scene = await openPanel(t, birds({ accounts, groups: { "room-0": { requireMention: false } } }));
  const { client, open } = scene;
  const page = await open("/channels");
  const own = page.getByRole("article", { name: "Bird", exact: true });
  const work = page.getByRole("article", { name: "Bird · Work <script>" });

  await t.test("the state of an account, its trouble with the next step, and what its network lacks", async () => {
    await own.getByText("connected", { exact: true }).waitFor();
    await own.getByText("groups, threads, pictures").waitFor();
    await work.getByText("needs a login").waitFor();
    await work.getByText("logged out on the phone").waitFor();
    await work.getByText("Next: Log in").waitFor();
    await page.getByText(/^Not set up: Discord, .*Mattermost, .*Telegram/).waitFor();
  });

  await t.test("a probe of one account, and its failure", async () => {
    await own.getByRole("button", { name: "Check" }).click();
    await own.getByText("blackbird").waitFor();
    await work.getByRole("button", { name: "Check" }).click();
    await work.getByRole("alert").getByText("the bird does not sing").waitFor();
    await own.getByText("blackbird").waitFor();
  });

  await t.test("a waiting person: who, code and age; access is given and taken back", async () => {
    const [waiting] = (await client.call(channelPairing.list, {})).pending;
    const people = page.getByRole("region", { name: "People" });
    const person = people.getByRole("listitem").filter({ hasText: "eve-17" });
    await person.getByText(waiting?.code ?? "no code").waitFor();
    await person.getByRole("time").waitFor();
    await person.getByRole("button", { name: "Approve" }).click();
    await people.getByText("1 person has access").waitFor();
    assert.equal((await client.call(channelPairing.list, {})).approved[0]?.senderId, "eve-17");
    await person.getByRole("button", { name: "Revoke access" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke access" }).click();
    await people.waitFor({ state: "detached" });
    assert.deepEqual((await client.call(channelPairing.list, {})).approved, []);
  });

  await t.test(
    "settings: a stale form is refused and loaded again, a secret can be replaced but never read",
    async () => {
      await own.getByRole("button", { name: "Settings" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("combobox", { name: /^Who may write/ }).selectOption("allowlist");
      assert.equal(await dialog.getByLabel("birdToken").inputValue(), "");
      assert.ok(!(await page.content()).includes(SECRET));
      const { hash } = await client.call(config.get, {});
      await client.call(config.patch, { raw: '{ channels: { bird: { allowFrom: ["ann"] } } }', baseHash: hash });
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("alert").getByText("config.get").waitFor();
      await dialog.getByRole("button", { name: "Reload settings" }).click();
      await dialog.getByText("ann", { exact: true }).waitFor({ state: "attached" });
      assert.equal(await dialog.getByRole("textbox", { name: /^Allowed people/ }).inputValue(), "ann");
      await dialog.getByRole("combobox", { name: /^Who may write/ }).selectOption("allowlist");
      await dialog.getByRole("textbox", { name: /^Allowed people/ }).fill("ann\n bob \nbob");
      await dialog.getByRole("textbox", { name: /^Listed groups/ }).fill("room-0\nroom-1");
      await dialog.getByLabel("birdToken").fill("another");
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      const written = JSON.parse(await readFile(join(scene.stateDir, "svc.json"), "utf8")) as {
        channels: { bird: { accounts: { default: object; work: object } } };
      };
      assert.deepEqual(written.channels.bird.accounts, {
        default: {
          birdToken: "another",
          dmPolicy: "allowlist",
          allowFrom: ["ann", "bob"],
          groups: { "room-0": { requireMention: false }, "room-1": {} }, // the inherited one is kept
        },
        work: accounts.work,
      });
      await own.getByText("only listed people").waitFor();
    },
  );

  await t.test("a logout", async () => {
    await own.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Log out" }).click();
    await own.getByText("needs a login").waitFor();
    assert.equal((await client.call(channels.status, { channel: "bird" })).channelAccounts["bird"]?.[0]?.linked, false);
  });

  await t.test("a reader sees the state and no buttons", async () => {
    const reader = await openWith(scene, "/channels", ["operator.read"]);
    await reader.getByRole("article", { name: "Bird", exact: true }).getByText("needs a login").waitFor();
    for (const name of ["Settings", "Log in", "Log out", "Add a channel"])
      assert.equal(await reader.locator("main").getByRole("button", { name }).count(), 0, name);
    assert.equal(await reader.getByRole("region", { name: "People" }).count(), 0);
  });

  await t.test("a phone shows it without sideways scrolling", async () => {
    const phone = await open("/channels", { isPhone: true, locale: "de-DE" });
    await phone.getByRole("article", { name: "Bird", exact: true }).waitFor();
    await fitsWidth(phone);
  });
});

it("logs in with a QR code that renews itself, and cancels", { skip, timeout: 120_000 }, async (t) => {
  const { client, open, stateDir } = await openPanel(t, birds({}));
  const page = await open("/channels", { theme: "dark" });
  const dialog = page.getByRole("dialog");
  const begin = async () => {
    await page.getByRole("button", { name: "Add a channel" }).click();
    await dialog.getByRole("radio", { name: "Bird" }).check();
    await dialog.getByRole("button", { name: "Continue" }).click();
  };

  await begin();
  const code = dialog.getByRole("img", { name: "QR code for the login at Bird" });
  await code.waitFor();
  assert.equal(await code.locator("rect").getAttribute("fill"), "#fff");
  const first = await code.locator("path").getAttribute("d");
  await dialog.getByText("Code as text").click();
  await dialog.getByText(/^bird:link\/[2-9]$/).waitFor();
  assert.notEqual(await code.locator("path").getAttribute("d"), first);
  await dialog.getByRole("timer").waitFor();

  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await writeFile(join(stateDir, "scanned"), "");
  const { loginId } = await client.call(channelLogin.start, { channel: "bird" });
  assert.deepEqual(await client.call(channelLogin.cancel, { loginId }), { cancelled: true });
  assert.deepEqual(await client.call(channelLogin.cancel, { loginId }), { cancelled: false });
  await assert.rejects(client.call(channelLogin.next, { loginId }), { code: "NOT_FOUND" });
  const status = await client.call(channels.status, { channel: "bird" });
  assert.equal(status.channelAccounts["bird"]?.[0]?.configured, false, "the cancelled login wrote nothing");

  await begin();
  await dialog.getByText("Linked as blackbird.").waitFor();
  await dialog.getByText("channels.bird", { exact: true }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("article", { name: "Bird" }).getByText("connected", { exact: true }).waitFor();
});
