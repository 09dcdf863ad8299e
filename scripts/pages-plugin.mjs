import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Builds the script or the style of a page to one minified text. */
async function bundled(file) {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'iife',
    // The browsers that MCP clients embed, and those of people, have had these features since 2023.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    legalComments: 'none',
    logLevel: 'warning',
  });
  return { text: outputFiles[0].text.trim(), files: Object.keys(metafile.inputs) };
}

/** Loads an imported HTML page as text, with the style.css and main.ts beside it built into the page. */
export const pagesPlugin = {
  name: 'pages',
  setup(builder) {
    builder.onLoad({ filter: /\/board\/view\/\w+\/page\.html$/ }, async ({ path }) => {
      const folder = dirname(path);
      const [style, script] = await Promise.all([bundled(join(folder, 'style.css')), bundled(join(folder, 'main.ts'))]);
      // A closing tag inside the script would end it; in a string of JavaScript, the escape means the same.
      const safeScript = script.text.replaceAll(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--');
      const contents = readFileSync(path, 'utf8')
        .replaceAll(/\n\s*/g, '\n')
        .replace('/* style */', () => style.text)
        .replace('/* script */', () => safeScript);
      const watchFiles = [...style.files, ...script.files].map((file) => join(process.cwd(), file));
      return { contents, loader: 'text', watchFiles };
    });
  },
};
