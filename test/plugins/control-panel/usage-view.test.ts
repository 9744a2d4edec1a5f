/** The view Usage in a real browser. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { plugins } from "@svc/sdk/plugins";
import { without } from "../../programs.ts";
import { openPanel } from "./browser-scene.ts";
import { fitsWidth } from "./layout.ts";
import { seedSessions } from "./usage-seed.ts";

const DAY = 86_400_000;
const EVIL = "<img src=x onerror=alert(1)>";

it(
  "says why there is nothing, then shows tokens and cost by day, model, agent and channel",
  { skip: without("chromium") },
  async (t) => {
    const { stateDir, client, open } = await openPanel(t);
    const page = await open("/usage");
    await page.getByText("No message in this period").waitFor();
    await page.getByText("No configured provider has quotas.").waitFor();

    const now = Date.now();
    const answer = (at: number, model: string, tokens: number, dollars: number) =>
      ({ role: "assistant", text: "yes", at, usage: { provider: "acme", model, tokens, dollars } }) as const;
    seedSessions(stateDir, [
      {
        key: "agent:main:slack:direct:ann",
        label: `Ann ${EVIL}`,
        updatedAt: now,
        messages: [
          { role: "user", text: "hi", at: now - 3_000 },
          answer(now - 1_000, "large", 1_500, 2),
          answer(now - 20 * DAY, "small", 500, 1),
        ],
      },
      {
        key: "agent:helper:irc:direct:bob",
        updatedAt: now - 60 * DAY,
        messages: [answer(now - 60 * DAY, "small", 4_000, 0.5)],
      },
    ]);
    await page.getByRole("button", { name: "Refresh" }).click();
    const chart = page.getByRole("img", { name: "Tokens by day and model" });
    await chart.locator("canvas").waitFor();
    const isDrawn = `(canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((byte) => byte > 0)`;
    await page.waitForFunction(`(${isDrawn})(document.querySelector("svc-chart canvas"))`);
    await page.locator(".figure", { hasText: "Tokens" }).getByText("2K", { exact: true }).waitFor();
    await page.locator(".figure", { hasText: "Cost" }).getByText("$3.00").waitFor();

    const table = page.locator(".chart table");
    await page.getByText("Table", { exact: true }).click();
    assert.deepEqual(await table.locator("thead th").allTextContents(), ["", "acme/large", "acme/small", "Total"]);
    assert.equal(await table.locator("tbody tr").count(), 30);
    assert.deepEqual((await table.locator("tbody tr").last().locator("td").allTextContents()).slice(1), [
      "1.5K",
      "0",
      "1.5K",
    ]);

    await page.getByRole("button", { name: "90 days" }).click();
    await page.getByRole("region", { name: "Agents" }).getByText("helper").waitFor();
    assert.deepEqual(
      await page.getByRole("region", { name: "Channels" }).locator("tbody tr .break").allTextContents(),
      ["irc", "slack"],
    );
    await page.getByRole("button", { name: "Cost", exact: true }).click();
    const cost = page.getByRole("img", { name: "Cost by day and model" });
    await cost.waitFor();
    assert.deepEqual(
      await page.getByRole("region", { name: "Channels" }).locator("tbody tr .break").allTextContents(),
      ["slack", "irc"],
      "in the order of the chosen unit",
    );
    await cost.locator("canvas").evaluate((canvas) => canvas.setAttribute("data-former", ""));
    await page.emulateMedia({ colorScheme: "dark" });
    await cost.locator("canvas:not([data-former])").waitFor(); // drawn again

    await page
      .getByRole("region", { name: "Most expensive sessions" })
      .getByRole("link", { name: `Ann ${EVIL}` })
      .click();
    await page.getByRole("complementary", { name: `Ann ${EVIL}` }).waitFor();

    await client.call(plugins.disable, { id: "usage" });
    const later = await open("/sessions");
    await later.locator("svc-rows").waitFor();
    assert.equal(await later.getByRole("link", { name: "Usage" }).count(), 0, "the view is gone with its plugin");
  },
);

it("fits a phone, and shows a failure with its cause", { skip: without("chromium") }, async (t) => {
  const { stateDir, client, open } = await openPanel(t);
  const now = Date.now();
  seedSessions(stateDir, [
    {
      key: `agent:main:slack:direct:${"long".repeat(30)}`,
      updatedAt: now,
      messages: [
        {
          role: "assistant",
          text: "yes",
          at: now - 1_000,
          usage: { provider: "acme", model: "m".repeat(80), tokens: 5, dollars: 0.0042 },
        },
      ],
    },
  ]);
  const page = await open("/usage", { isPhone: true, theme: "dark", locale: "de-DE" });
  await page
    .locator(".figure", { hasText: "Kosten" })
    .getByText(/0,0042/)
    .waitFor();
  await page.locator("canvas").waitFor();
  await fitsWidth(page);

  await client.call(plugins.disable, { id: "usage" });
  await page.getByRole("button", { name: "Aktualisieren" }).click();
  await page.getByRole("alert").getByText(/usage/).first().waitFor();
  await page.locator("canvas").waitFor(); // what was loaded stays
});
