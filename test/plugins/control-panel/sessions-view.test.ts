/** The view Sessions in a real browser. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { sessions } from "@svc/sdk/sessions";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";

it("finds, renames and deletes a session", { skip: without("chromium") }, async (t) => {
  const { client, open } = await openPanel(t);
  await client.call(sessions.patch, { key: "agent:main:alpha", label: "Alpha <img src=x onerror=alert(1)>" });
  await client.call(sessions.patch, { key: "agent:main:beta", label: "Beta" });
  const page = await open("/sessions");

  await page.getByRole("searchbox").fill("alpha");
  assert.equal(await page.getByRole("listitem").count(), 1);
  await page.getByRole("button", { name: "Rename Alpha" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Gamma");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("searchbox").fill("gamma");
  await page.getByRole("link", { name: "Gamma", exact: true }).waitFor();

  await page.getByRole("button", { name: "Delete Gamma" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No session matches the search").waitFor();
  const { sessions: left } = await client.call(sessions.list, {});
  assert.deepEqual(
    left.map(({ key }) => key),
    ["agent:main:beta"],
  );
});
