import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

/** Matches the path of a page that is imported as text. */
export const pagePath = /\/board\/view\/\w+\/page\.html$/;

/** The metafiles of the pages that were built, which name their packages for the notices. @type {import('esbuild').Metafile[]} */
export const pageMetafiles = [];

/** Methods of the Markdown parser that read links, HTML and character references. */
const unmetMethods =
  /(parse(?:LinkTitle|LinkDestination|LinkLabel|OpenBracket|Reference|Autolink|HtmlTag|Entity)|(?:add|remove)Bracket): \1,/g;
/** The statements that read a link after its closing bracket, end a block of HTML, and measure times. */
const unmetStatements =
  /\n {4}if \(!opener\.active\)[\s\S]*?(?=\n\};)|\n {12}\/\/ if HtmlBlock[\s\S]*?\n {12}\}|\n {4}if \(this\.options\.time\) \{[^}]*\}/g;
/** The function of the Markdown parser that begins blocks of HTML. */
const unmetBlock = /\/\/ HTML block\n\s*function[\s\S]*?(?=\/\/ Setext heading)/;
/** The patterns that only these need. */
const unmetPatterns =
  /^var (?:reHtmlTag = common\.reHtmlTag|(?:reHtmlBlockOpen|reEmailAutolink|reAutolink|reLinkDestinationBraces) =[\s\S]*?);\n/gm;
/** The methods and properties of the parser's nodes that neither it nor a page uses, and the setters of its lists. */
const unmetMembers =
  /Object\.defineProperty\(proto, "(?:isContainer|lastChild|prev|parent|destination|title|info|listTight|listDelimiter|onEnter|onExit)"[\s\S]*?\n\}\);\n|Node\.prototype\.(?:prependChild|insertBefore) = [\s\S]*?\n\};\n|,\n {4}set: function\([tn]\) \{[^}]*\}/g;

/**
 * Leaves out what a page never calls of its Markdown parser: its writers of HTML, members of its nodes, a substitute for `String.fromCodePoint`, and what
 * reads links, HTML and character references, which it never meets since `src/board/view/values/markdown.ts` keeps them from it.
 */
const parserOnly = {
  name: 'parser-only',
  setup(builder) {
    builder.onResolve({ filter: /^\.\/render\// }, async ({ path, pluginData, ...rest }) => {
      if (pluginData === parserOnly || !rest.importer.includes('/node_modules/commonmark/')) return undefined;
      const resolved = await builder.resolve(path, { ...rest, pluginData: parserOnly });
      return { ...resolved, sideEffects: false };
    });
    builder.onResolve({ filter: /^(entities|mdurl\/encode\.js)$/ }, ({ path }) => ({
      path,
      namespace: 'never-called',
    }));
    builder.onLoad({ filter: /\/commonmark\/lib\/(blocks|common|inlines|node)\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replaceAll(unmetMethods, '')
        .replaceAll(unmetStatements, '')
        .replace(unmetBlock, '')
        .replaceAll(unmetPatterns, '')
        .replaceAll(unmetMembers, '')
        // Those that only served what was left out go too.
        .replaceAll('new RegExp(', '/* @__PURE__ */ new RegExp('),
    }));
    builder.onLoad({ filter: /\/commonmark\/lib\/from-code-point\.js$/ }, () => ({
      contents: 'export default String.fromCodePoint;',
    }));
    builder.onLoad({ filter: /.*/, namespace: 'never-called' }, () => ({
      contents: 'const same = (text) => text; export { same as default, same as decodeHTMLStrict };',
    }));
  },
};

/** Builds the script or the style of a page to one minified text. */
async function bundled(file) {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    plugins: [parserOnly],
    charset: 'utf8',
    loader: { '.svg': 'dataurl' },
    // Short names for what is private to packages, and for the state of the page; _meta is a member of results.
    mangleProps:
      /^_|^(is(Alone|Asking|Busy|Chat|Current|Guided|Keeping|List|LoadingMore|Rereading|Selected|Writing|Written)|has(Next|SingleKeys)|can(Retry|Write)|load(Further|Given|More|Wholes?)|toggle(Guidelines|List|Selection)|set(Current|Members)|announce(Failure)?|writeOrAsk|callTool|tellModel|keptSentence|takeBack|moveActive|cards|wholes|asOf|on(Give|Type)|setSize|reread|addField|drafts?|update|formats|history|active|foldedChars|isOpen|isCode|isRaw|hasTerminal|previous|sentence|position|number|card|board|written|asked)$|Nonspace|Offset$|^(currentLine|closeUnmatchedBlocks|partiallyConsumedTab|acceptsLines|canContain|last(LineLength|MatchedContainer)|inlineParser|allClosed|oldtip|refmap|(num|orig)delims|can_(open|close)|(remove|handle|previous)(Delim|Bracket)\w*|processEmphasis|parse(Link|Close|Open|Back|Auto|Html|Ref|Ent|Inl|New|Bang|Str)\w*|delimiters|brackets|incorporateLine|finalize|entering|addChild|addLine|indented|subject|bulletChar|processInlines|insertAfter|unlink|lineNumber|listData|lastComponent|previousComponent|oneChangePerToken|maxEditLength|oldPos)$/,
    reserveProps: /^(_meta|lineOffset|next_offset|offset)$/,
    format: 'iife',
    // The browsers that MCP clients embed, and those of people, have had these features since 2023.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    legalComments: 'none',
    logLevel: 'warning',
  });
  pageMetafiles.push(metafile);
  return { text: outputFiles[0].text.trim(), files: Object.keys(metafile.inputs) };
}

/**
 * Builds the style.css and the main.ts beside a page into it.
 * @param {string} path
 * @returns {Promise<{ text: string, files: string[] }>} the page, and the files that it was built from.
 */
export async function buildPage(path) {
  const folder = dirname(path);
  const [style, script] = await Promise.all([bundled(join(folder, 'style.css')), bundled(join(folder, 'main.ts'))]);
  // A closing tag inside the script would end it; in a string of JavaScript, the escape means the same.
  const safeScript = script.text.replaceAll(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--');
  const text = readFileSync(path, 'utf8')
    .replaceAll(/\n\s*/g, '\n')
    .replace('/* style */', () => style.text)
    .replace('/* script */', () => safeScript);
  return { text, files: [...style.files, ...script.files] };
}

/** Loads an imported page as text. */
export const pagesPlugin = {
  name: 'pages',
  setup(builder) {
    builder.onLoad({ filter: pagePath }, async ({ path }) => {
      const { text, files } = await buildPage(path);
      return { contents: text, loader: 'text', watchFiles: files.map((file) => join(process.cwd(), file)) };
    });
  },
};
