// The bridge (`../../bridge.js`) connects this page to its own plugin. Names are shown as text, never as HTML.
const [form, name, names, problem] = ["form", "name", "names", "problem"].map((id) => document.getElementById(id));

const gateway = await globalThis.svcPanel.connect();

function add(text) {
  const item = document.createElement("li");
  item.textContent = text;
  names.append(item);
}

gateway.on("guestbook.signed", (entry) => add(entry.name));
for (const known of (await gateway.call("guestbook.list", {})).names) add(known);

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem.textContent = "";
  try {
    await gateway.call("guestbook.sign", { name: name.value });
    form.reset();
  } catch (error) {
    problem.textContent = `${error.code}: ${error.message}`;
  }
});
