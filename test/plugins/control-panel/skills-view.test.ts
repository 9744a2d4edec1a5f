/** The view Skills in a real browser. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { config } from "@svc/sdk/config";
import { skills } from "@svc/sdk/skills";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { fitsWidth } from "./layout.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";

function skill(name: string, more: string): string {
  return `---\nname: ${name}\ndescription: "Does ${HOSTILE}"\n${more}---\nDo it.\n`;
}

async function put(directory: string, text: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "SKILL.md"), text);
}

it("shows, configures, adds and removes skills", { skip: without("chromium") }, async (t) => {
  let elsewhere = "";
  const { client, open } = await openPanel(t, {
    async prepare(directory) {
      elsewhere = join(directory, "elsewhere", "pottery");
      const needs =
        'metadata: {"svc": {"primaryEnv": "KILN_KEY", "requires": {"bins": ["no-such-kiln"], "env": ["KILN_KEY"]}}}\n';
      await put(join(directory, "skills", "kiln"), skill("kiln", `${needs}homepage: "javascript:alert(1)"\n`));
      await put(elsewhere, skill("pottery", ""));
      await writeFile(join(elsewhere, "wheel.sh"), "#!/bin/sh\n", { mode: 0o755 });
    },
  });
  const page = await open("/skills");
  const dialog = page.getByRole("dialog");
  const kiln = page.locator("details.skill", { hasText: "kiln" });
  const entries = async () => {
    const { parsed } = await client.call(config.get, {});
    return (
      (parsed as { skills?: { entries?: Record<string, Readonly<Record<string, unknown>>> } }).skills?.entries ?? {}
    );
  };

  await t.test("says why a skill cannot be used, and what to do; foreign texts are texts", async () => {
    await page.getByRole("combobox", { name: "Show" }).selectOption("Not usable");
    await page.getByRole("searchbox").fill("kiln");
    await page.getByText("1 skill", { exact: true }).waitFor();
    await kiln.getByText(`Does ${HOSTILE}`).waitFor();
    await kiln.locator("summary").click();
    await kiln.getByText("The program no-such-kiln is missing.").waitFor();
    await kiln.getByText("The variable KILN_KEY is not set. Set the key below.").waitFor();
    assert.equal(await kiln.getByRole("link").count(), 0, "no link to a script");
  });

  await t.test("sets a key, which then no longer lacks, and disables", async () => {
    await kiln.getByRole("button", { name: "Set key" }).click();
    await dialog.getByLabel("Key").fill("secret-of-the-kiln");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await kiln.getByText("The variable KILN_KEY is not set.").waitFor({ state: "detached" });
    assert.ok((await entries())["kiln"]?.["apiKey"] !== undefined);
    await kiln.getByRole("button", { name: "Disable" }).click();
    await kiln.getByText("It is disabled.").waitFor();
    await kiln.getByRole("button", { name: "Enable" }).click();
    await kiln.getByText("It is disabled.").waitFor({ state: "detached" });
    assert.equal((await entries())["kiln"]?.["enabled"], true);
  });

  await t.test("adds a skill after it was inspected, with a warning", async () => {
    await page.getByRole("combobox", { name: "Show" }).selectOption("All");
    await page.getByRole("searchbox").fill("pottery");
    await page.getByText("No skill matches").waitFor();
    await page.getByRole("button", { name: "Add skill" }).click();
    await dialog.getByRole("textbox", { name: "Source https" }).fill("/no/such/place");
    await dialog.getByRole("button", { name: "Inspect" }).click();
    await dialog.getByText("/no/such/place does not exist").waitFor();
    await dialog.getByRole("textbox", { name: "Source https" }).fill(elsewhere);
    await dialog.getByRole("button", { name: "Inspect" }).click();
    await dialog.getByText("Install it only if you trust its author").waitFor();
    await dialog.getByText("1 program").waitFor();
    const has = async () => (await client.call(skills.status, {})).skills.some(({ name }) => name === "pottery");
    assert.equal(await has(), false, "inspecting installs nothing");
    await dialog.getByRole("button", { name: "Install" }).click();
    await page.locator("details.skill", { hasText: "pottery" }).locator("summary").click();
    assert.equal(await has(), true);
    await page.locator("details.skill", { hasText: "pottery" }).getByRole("button", { name: "Remove" }).click();
    await dialog.getByRole("button", { name: "Remove" }).click();
    await page.getByText("No skill matches").waitFor();
    assert.equal(await has(), false);
  });

  await t.test("fits a phone", async () => {
    const phone = await open("/skills", { isPhone: true });
    await phone.locator("details.skill summary").first().click();
    await fitsWidth(phone);
  });
});
