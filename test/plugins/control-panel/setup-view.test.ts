/** The view Setup in a real browser, with parts of a test. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { wizard } from "@svc/sdk/wizard";
import type { Page } from "playwright-core";
import { without } from "../../programs.ts";
import { openPanel, type SceneOptions } from "./browser-scene.ts";

const skip = without("chromium");

/** One part with every kind of question, and one that fails. It writes the answers into its directory. */
const GUIDE = `import { writeFile } from "node:fs/promises";
import { definePlugin, GatewayError } from "@svc/sdk";
import { SetupPart } from "@svc/sdk/wizard";
const QUESTIONS = [
  { kind: "note", title: "Welcome <img src=x onerror=alert(1)>", message: "Read https://example.org/guide first.\\nThen go on." },
  { kind: "text", message: "Your name?", initial: "Ada" },
  { kind: "text", message: "The key?", sensitive: true },
  { kind: "confirm", message: "Really?", initial: true },
  { kind: "select", message: "Which color?", options: [{ value: "red", label: "Red" }, { value: "blue", label: "Blue", hint: "like the sea" }], initial: "red" },
  { kind: "multiselect", message: "Which days?", options: [{ value: 1, label: "Monday" }, { value: 2, label: "Tuesday" }, { value: 3, label: "Friday" }], initial: [1] },
];
export default definePlugin({
  id: "guide",
  api: "^1.0.0",
  setup(gateway) {
    gateway.extend(SetupPart, "all", {
      title: "All kinds",
      order: 1,
      start: async () => ({ ask: QUESTIONS[0], state: [] }),
      async next({ state, answer }) {
        const answers = [...state, answer ?? null];
        if (answers.length < QUESTIONS.length) return { ask: QUESTIONS[answers.length], state: answers };
        await writeFile(process.env.SVC_STATE_DIR + "/answers.json", JSON.stringify(answers));
        return { done: true, message: "All is set up." };
      },
    });
    gateway.extend(SetupPart, "broken", {
      title: "Broken",
      order: 2,
      start: async () => { throw new GatewayError("UNAVAILABLE", "the cable is not plugged in"); },
      next: async () => ({ done: true }),
    });
  },
});
`;

const scene: SceneOptions = {
  config: {
    plugins: { use: ["control-panel", "devices", "storage-sqlite", "wizard"], load: { paths: ["./guide.ts"] } },
  },
  prepare: (stateDir) => writeFile(join(stateDir, "guide.ts"), GUIDE),
};

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

it("asks every kind of question, goes on after a failure, and says what to do next", { skip }, async (t) => {
  const { open, stateDir } = await openPanel(t, scene);
  const page = await open("/setup");
  await press(page, "Start the setup");

  await page.getByRole("heading", { name: "Welcome <img src=x onerror=alert(1)>" }).waitFor();
  assert.equal(
    await page.getByRole("link", { name: "https://example.org/guide" }).getAttribute("rel"),
    "noopener noreferrer",
  );
  await press(page, "Continue");
  await page.getByText("Your name?").waitFor();
  assert.equal(await page.getByRole("textbox").inputValue(), "Ada");
  await page.getByRole("textbox").fill("Grace");
  await page.keyboard.press("Enter");
  await page.getByText("The key?").waitFor();
  const key = page.locator("input[name=value]");
  assert.deepEqual([await key.getAttribute("type"), await key.inputValue()], ["password", ""]);
  await key.fill("s3cret-key");
  await press(page, "Continue");
  await page.getByText("Really?").waitFor();
  await press(page, "No");
  await page.getByText("Which color?").waitFor();
  assert.ok(await page.getByRole("radio", { name: "Red" }).isChecked());
  await page.getByText("like the sea").click();
  await press(page, "Continue");
  await page.getByText("Which days?").waitFor();
  await page.getByRole("checkbox", { name: "Friday" }).check();
  await press(page, "Continue");

  await page.getByText("the cable is not plugged in").waitFor();
  const answers: unknown = JSON.parse(await readFile(join(stateDir, "answers.json"), "utf8"));
  assert.deepEqual(answers, [null, "Grace", "s3cret-key", false, "blue", [1, 3]]);
  await page.getByRole("radio", { name: "Skip this part" }).check();
  await press(page, "Continue");
  await page.getByText("Broken: skipped").waitFor();
  await press(page, "Continue");
  await page.getByRole("heading", { name: "The setup is complete" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Connect a channel" }).count(), 0, "its plugin is not loaded");
  await press(page, "Open the overview");
  await page.waitForURL("**/overview");
});

it(
  "continues after a reload, takes over a setup of somebody else, and ends one; at phone width",
  { skip },
  async (t) => {
    const { open, client } = await openPanel(t, scene);
    const { sessionId } = await client.call(wizard.start, {});
    const page = await open("/setup", { isPhone: true });
    await press(page, "Start the setup");
    await page.getByText("A setup is already running").waitFor();
    await press(page, "Continue");
    await press(page, "Continue");
    await page.getByText("Your name?").waitFor();
    await page.reload();
    await page.getByText("Your name?").waitFor();
    const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert.equal(wide, 0);

    await press(page, "End the setup");
    await page.getByRole("dialog").getByRole("button", { name: "End the setup" }).click();
    await page.getByText("The setup was ended").waitFor();
    await assert.rejects(client.call(wizard.next, { sessionId }), /ended/);

    await client.call(wizard.start, {});
    await press(page, "Start again");
    await press(page, "Start the setup");
    await press(page, "End and start again");
    await page.getByRole("heading", { name: /Welcome/ }).waitFor();
  },
);

it("says when somebody else answered meanwhile, and shows the current question", { skip }, async (t) => {
  const { open, client } = await openPanel(t, scene);
  const page = await open("/setup");
  await press(page, "Start the setup");
  await page.getByRole("heading", { name: /Welcome/ }).waitFor();
  const sessionId = String(await page.evaluate("sessionStorage.getItem('svc-panel.setup')"));
  const { step } = await client.call(wizard.next, { sessionId });
  await client.call(wizard.next, { sessionId, answer: { stepId: step?.id ?? "" } });
  await press(page, "Continue");
  await page.getByText("answer.stepId is not the pending step").waitFor();
  await press(page, "Try again");
  await page.getByText("Your name?").waitFor();
});
