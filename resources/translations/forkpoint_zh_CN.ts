<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>Caption</name>
    <message>
        <source>coloured by severity</source>
        <translation>按严重程度着色</translation>
    </message>
    <message>
        <source>coloured by output error</source>
        <translation>按输出误差着色</translation>
    </message>
    <message>
        <source>coloured by new error</source>
        <translation>按新增误差着色</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>partial: %1 of %2 pairs</source>
        <translation>未完成：%1 / %2 对</translation>
    </message>
</context>
<context>
    <name>Curves</name>
    <message>
        <source>%1: %2 NaN, %3 Inf</source>
        <translation>%1：%2 个 NaN，%3 个 Inf</translation>
    </message>
    <message>
        <source>%1: %2 NaN</source>
        <translation>%1：%2 个 NaN</translation>
    </message>
    <message>
        <source>%1: %2 Inf</source>
        <translation>%1：%2 个 Inf</translation>
    </message>
    <message>
        <source>one rank</source>
        <translation>单个 rank</translation>
    </message>
    <message>
        <source>the same on %1 ranks</source>
        <translation>%1 个 rank 上相同</translation>
    </message>
    <message>
        <source>mean over %1 ranks</source>
        <translation>%1 个 rank 的平均</translation>
    </message>
    <message>
        <source>sum over %1 ranks</source>
        <translation>%1 个 rank 的总和</translation>
    </message>
    <message>
        <source>%1, mean over micro-steps</source>
        <translation>%1，微步取平均</translation>
    </message>
    <message>
        <source>%1, sum over micro-steps</source>
        <translation>%1，微步求和</translation>
    </message>
    <message>
        <source>as logged by the first rank</source>
        <translation>第一个 rank 所记录</translation>
    </message>
    <message>
        <source>A: %1; B: %2</source>
        <translation>A：%1；B：%2</translation>
    </message>
    <message>
        <source>The tensor that backward() started from, of the whole step.</source>
        <translation>backward() 的起点张量，整步的值。</translation>
    </message>
    <message>
        <source>A: %1</source>
        <translation>A：%1</translation>
    </message>
    <message>
        <source>B: %1</source>
        <translation>B：%1</translation>
    </message>
    <message>
        <source>How ranks and micro-steps add up is read off the losses of the first compared step and used for every step.</source>
        <translation>rank 与微步如何合并，由第一个被比较步的 loss 判定，并用于所有步。</translation>
    </message>
    <message>
        <source>Onset: the first step whose relative difference is above 100 times the floor that rounding explains.</source>
        <translation>起点：相对差异首次超过舍入底噪 100 倍的步。</translation>
    </message>
    <message>
        <source>As the first recorded rank of each run logged it. Only the loss sets an onset.</source>
        <translation>取每次运行第一个已记录 rank 的值。只有 loss 会给出起点。</translation>
    </message>
    <message>
        <source>Relative difference: |B - A| / max(|A|, |B|).</source>
        <translation>相对差异：|B - A| / max(|A|, |B|)。</translation>
    </message>
    <message>
        <source>Steps are numbered as in A; step n of A is step n + %1 of B.</source>
        <translation>步号以 A 为准；A 的第 n 步是 B 的第 n + %1 步。</translation>
    </message>
    <message>
        <source>Not all ranks of both runs are here: a single rank&apos;s log sets no onset.</source>
        <translation>两次运行的 rank 不全：单个 rank 的记录不给出起点。</translation>
    </message>
    <message>
        <source>No onset: the losses agree within 100 times the floor at every common step.</source>
        <translation>没有起点：所有共同步的 loss 都在底噪 100 倍以内一致。</translation>
    </message>
    <message>
        <source>The log axis hides values at or below zero: %1 of A, %2 of B.</source>
        <translation>对数轴隐藏了小于等于零的值：A 有 %1 个，B 有 %2 个。</translation>
    </message>
    <message>
        <source>The log axis of |B - A| hides %1 steps with equal values.</source>
        <translation>|B - A| 的对数轴隐藏了 %1 个数值相等的步。</translation>
    </message>
    <message>
        <source>Gaps marked at the top: %1.</source>
        <translation>顶部标出的缺口：%1。</translation>
    </message>
    <message>
        <source>no value</source>
        <translation>无值</translation>
    </message>
    <message>
        <source>step %1: A %2, B %3</source>
        <translation>第 %1 步：A %2，B %3</translation>
    </message>
    <message>
        <source>, B - A %1</source>
        <translation>，B - A %1</translation>
    </message>
    <message>
        <source>, relative %1</source>
        <translation>，相对 %1</translation>
    </message>
    <message>
        <source>No onset can be told: no common step has finite losses on both sides.</source>
        <translation>无法判断起点：没有任何共同的步在两侧都有有限的 loss。</translation>
    </message>
    <message>
        <source>Values beyond 1e250 are too large for an axis and drawn as infinite: %1 of A, %2 of B.</source>
        <translation>超过 1e250 的值对坐标轴来说过大，按无穷绘制：A 有 %1 个，B 有 %2 个。</translation>
    </message>
    <message>
        <source>in B: %1</source>
        <translation>B 中名为：%1</translation>
    </message>
    <message>
        <source>as logged (%1)</source>
        <translation>如日志所记（%1）</translation>
    </message>
    <message>
        <source>as logged (A: %1; B: %2)</source>
        <translation>如日志所记（A：%1；B：%2）</translation>
    </message>
    <message>
        <source>Onset: the first common step whose values differ by more than %1 of the larger one and by more than one unit of the last digit that was written, or where only one is finite.</source>
        <translation>起点：双方共有的第一个步，其值之差超过较大者的 %1，且超过所写末位的一个单位；或只有一方为有限值。</translation>
    </message>
    <message>
        <source>A and B have no step in common.</source>
        <translation>A 和 B 没有共同的步。</translation>
    </message>
    <message>
        <source>No onset: A and B agree at every common step (%1).</source>
        <translation>没有起点：A 和 B 在每个共同的步都一致（%1）。</translation>
    </message>
    <message>
        <source>A does not have this scalar.</source>
        <translation>A 没有此标量。</translation>
    </message>
    <message>
        <source>B does not have this scalar.</source>
        <translation>B 没有此标量。</translation>
    </message>
</context>
<context>
    <name>Errors</name>
    <message>
        <source>These runs cannot be compared like this</source>
        <translation>这两次运行不能这样比较</translation>
    </message>
    <message>
        <source>There is no such file or folder</source>
        <translation>文件或文件夹不存在</translation>
    </message>
    <message>
        <source>The system refuses to read the bundle</source>
        <translation>系统拒绝读取该 bundle</translation>
    </message>
    <message>
        <source>The bundle is damaged</source>
        <translation>bundle 已损坏</translation>
    </message>
    <message>
        <source>The bundle ends too early</source>
        <translation>bundle 不完整，提前结束</translation>
    </message>
    <message>
        <source>The bundle needs a newer Forkpoint</source>
        <translation>该 bundle 需要更新版本的 Forkpoint</translation>
    </message>
    <message>
        <source>The runs could not be compared</source>
        <translation>无法比较这两次运行</translation>
    </message>
    <message>
        <source>Check the path, or choose the bundle again.</source>
        <translation>请检查路径，或重新选择 bundle。</translation>
    </message>
    <message>
        <source>Check the permissions of the files and try again.</source>
        <translation>请检查文件权限后重试。</translation>
    </message>
    <message>
        <source>Copy it again from where it was recorded, or record it again; “forkpoint-cli verify” lists everything that is wrong with it.</source>
        <translation>请从记录它的机器上重新复制，或重新记录；运行“forkpoint-cli verify”可列出其中的全部问题。</translation>
    </message>
    <message>
        <source>Update this program, or record the run with a matching version.</source>
        <translation>请更新本程序，或用相应版本重新记录。</translation>
    </message>
    <message>
        <source>Choose other runs.</source>
        <translation>请选择其他运行。</translation>
    </message>
    <message numerus="yes">
        <source>%1: %2, %3, steps %4, %n tensor(s)</source>
        <comment>letter, name, ranks, steps</comment>
        <translation>
            <numerusform>%1：%2，%3，步 %4，%n 个张量</numerusform>
        </translation>
    </message>
    <message>
        <source>This is not a portable comparison</source>
        <translation>这不是便携比较文件</translation>
    </message>
    <message>
        <source>The system refuses to read the file</source>
        <translation>系统拒绝读取该文件</translation>
    </message>
    <message>
        <source>The file ends too early</source>
        <translation>文件不完整</translation>
    </message>
    <message>
        <source>The file needs a newer Forkpoint</source>
        <translation>该文件需要更新版本的 Forkpoint</translation>
    </message>
    <message>
        <source>The file is damaged</source>
        <translation>文件已损坏</translation>
    </message>
    <message>
        <source>Check the path, or choose the file again.</source>
        <translation>请检查路径，或重新选择文件。</translation>
    </message>
    <message>
        <source>Update this program, or write the file with a matching version.</source>
        <translation>请更新本程序，或用匹配的版本重新写出该文件。</translation>
    </message>
    <message>
        <source>Copy it again from where it came from, or write it again: forkpoint-cli compare A B -o X.forkcmp</source>
        <translation>请从来源处重新复制，或重新写出：forkpoint-cli compare A B -o X.forkcmp</translation>
    </message>
    <message>
        <source>This is nothing that can be compared</source>
        <translation>这不是可以比较的内容</translation>
    </message>
    <message>
        <source>Choose the folder that the recorder wrote (it holds rank00000, rank00001 and so on), files of tensors, or two logs.</source>
        <translation>请选择记录器写出的文件夹（其中有 rank00000、rank00001 等）、张量文件，或两份日志。</translation>
    </message>
    <message>
        <source>%1: no run and no tensors could be read of %2</source>
        <comment>letter of the run, path</comment>
        <translation>%1：未能从 %2 读出运行或张量</translation>
    </message>
</context>
<context>
    <name>Gate</name>
    <message>
        <source>environment</source>
        <translation>环境</translation>
    </message>
    <message>
        <source>data</source>
        <translation>数据</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>前向</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>loss</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>reduce</source>
        <translation>归约</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>优化器</translation>
    </message>
</context>
<context>
    <name>GateState</name>
    <message>
        <source>ok</source>
        <translation>正常</translation>
    </message>
    <message>
        <source>differs</source>
        <translation>有差异</translation>
    </message>
    <message>
        <source>fork</source>
        <translation>分叉</translation>
    </message>
    <message>
        <source>not recorded</source>
        <translation>未记录</translation>
    </message>
    <message>
        <source>not compared</source>
        <translation>未比较</translation>
    </message>
</context>
<context>
    <name>GraphMarks</name>
    <message>
        <source>error, × floor</source>
        <translation>误差，底噪倍数</translation>
    </message>
    <message>
        <source>relative error</source>
        <translation>相对误差</translation>
    </message>
    <message>
        <source>new error here, × floor</source>
        <translation>此处新增误差，底噪倍数</translation>
    </message>
</context>
<context>
    <name>GraphPainter</name>
    <message>
        <source>only A</source>
        <translation>仅 A</translation>
    </message>
    <message>
        <source>only B</source>
        <translation>仅 B</translation>
    </message>
    <message>
        <source>fork</source>
        <comment>tag on the node where the runs fork</comment>
        <translation>分叉</translation>
    </message>
</context>
<context>
    <name>GraphWords</name>
    <message>
        <source>not measured yet</source>
        <translation>尚未测量</translation>
    </message>
    <message>
        <source>nothing recorded here in this phase</source>
        <translation>此阶段在这里没有记录</translation>
    </message>
    <message>
        <source>%1: %2 (%3)</source>
        <comment>severity: number (its meaning)</comment>
        <translation>%1：%2（%3）</translation>
    </message>
    <message>
        <source>%1 pending</source>
        <translation>%1 待测</translation>
    </message>
    <message>
        <source>the fork lies here</source>
        <translation>分叉在此内部</translation>
    </message>
    <message>
        <source>group, expanded</source>
        <translation>组，已展开</translation>
    </message>
    <message>
        <source>group, collapsed</source>
        <translation>组，已折叠</translation>
    </message>
    <message>
        <source>no call of it was recorded</source>
        <translation>没有记录到它的调用</translation>
    </message>
    <message>
        <source>The runs fork here.</source>
        <translation>两次运行在此分叉。</translation>
    </message>
    <message numerus="yes">
        <source>and %n more</source>
        <translation>
            <numerusform>另有 %n 个</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 → %2</source>
        <comment>an edge from, to</comment>
        <translation>%1 → %2</translation>
    </message>
    <message>
        <source>only in A</source>
        <translation>仅 A 有</translation>
    </message>
    <message>
        <source>only in B</source>
        <translation>仅 B 有</translation>
    </message>
    <message>
        <source>not recorded, follows from the inputs</source>
        <translation>未记录，由输入推得</translation>
    </message>
</context>
<context>
    <name>Heatmap</name>
    <message>
        <source>over</source>
        <translation>超差</translation>
    </message>
    <message>
        <source>within</source>
        <translation>容差内</translation>
    </message>
    <message>
        <source>equal</source>
        <translation>相等</translation>
    </message>
    <message>
        <source>no dim</source>
        <translation>无维度</translation>
    </message>
    <message>
        <source>dim %1</source>
        <translation>维 %1</translation>
    </message>
    <message>
        <source>dims %1-%2</source>
        <translation>维 %1-%2</translation>
    </message>
    <message>
        <source>rel</source>
        <comment>short for relative error, on a button</comment>
        <translation>相对</translation>
    </message>
    <message>
        <source>ULP</source>
        <translation>ULP</translation>
    </message>
    <message>
        <source>over</source>
        <comment>short for over tolerance, on a button</comment>
        <translation>超差</translation>
    </message>
    <message>
        <source>relative error</source>
        <translation>相对误差</translation>
    </message>
    <message>
        <source>ULP distance</source>
        <translation>ULP 距离</translation>
    </message>
    <message>
        <source>over tolerance</source>
        <translation>超出容差</translation>
    </message>
    <message>
        <source>The values of the reference. Where several share a pixel, the one of largest magnitude.</source>
        <translation>参考运行的值。多个元素共用一个像素时，取绝对值最大者。</translation>
    </message>
    <message>
        <source>The values of the candidate. Where several share a pixel, the one of largest magnitude.</source>
        <translation>候选运行的值。多个元素共用一个像素时，取绝对值最大者。</translation>
    </message>
    <message>
        <source>d = B − A with its sign. Where several share a pixel, the one of largest magnitude.</source>
        <translation>d = B − A，带符号。多个元素共用一个像素时，取绝对值最大者。</translation>
    </message>
    <message>
        <source>|d| with d = B − A. Where several share a pixel, the largest.</source>
        <translation>|d|，其中 d = B − A。多个元素共用一个像素时，取最大者。</translation>
    </message>
    <message>
        <source>|d| / max(|a|, |b|), the symmetric relative error; 0/0 is 0. Where several share a pixel, the largest.</source>
        <translation>|d| / max(|a|, |b|)，对称相对误差；0/0 记为 0。多个元素共用一个像素时，取最大者。</translation>
    </message>
    <message>
        <source>How many representable numbers lie between a and b, in units in the last place of their common type; integers: |b − a|. Where several share a pixel, the largest.</source>
        <translation>a 与 b 之间可表示数的个数，以共同类型的末位单位计；整数为 |b − a|。多个元素共用一个像素时，取最大者。</translation>
    </message>
    <message>
        <source>Equal, within, or over: not |d| &lt;= atol + rtol × |a|, as torch.isclose(B, A) with rtol %1 and atol %2. NaN and unequal infinities are over. Where several share a pixel, the worst.</source>
        <translation>相等、容差内或超差：不满足 |d| &lt;= atol + rtol × |a|，与 torch.isclose(B, A) 相同，rtol %1，atol %2。NaN 与不相等的无穷算超差。多个元素共用一个像素时，取最坏者。</translation>
    </message>
    <message>
        <source>viridis</source>
        <translation>viridis</translation>
    </message>
    <message>
        <source>cividis</source>
        <translation>cividis</translation>
    </message>
    <message>
        <source>grey</source>
        <translation>灰度</translation>
    </message>
    <message>
        <source>diverging</source>
        <translation>双向</translation>
    </message>
    <message>
        <source>linear</source>
        <translation>线性</translation>
    </message>
    <message>
        <source>log</source>
        <translation>对数</translation>
    </message>
    <message>
        <source>log both ways</source>
        <translation>双向对数</translation>
    </message>
    <message>
        <source>%1 to %2, %3</source>
        <comment>low to high, scale</comment>
        <translation>%1 至 %2，%3</translation>
    </message>
    <message>
        <source>rows: %1</source>
        <translation>行：%1</translation>
    </message>
    <message>
        <source>columns: %1</source>
        <translation>列：%1</translation>
    </message>
    <message>
        <source>one line, continued after %1</source>
        <translation>单行，每 %1 个换行</translation>
    </message>
    <message>
        <source>dim %1 at %2</source>
        <translation>维 %1 取 %2</translation>
    </message>
    <message>
        <source>The elements appear when the runs are read.</source>
        <translation>读入运行后显示元素。</translation>
    </message>
    <message>
        <source>There is nothing to look at: the runs could not be compared.</source>
        <translation>没有可看的内容：无法比较这两次运行。</translation>
    </message>
    <message>
        <source>Open two runs to see their elements.</source>
        <translation>打开两次运行即可查看元素。</translation>
    </message>
    <message>
        <source>Select a pair, in the list or in the graph, to see its elements.</source>
        <translation>在列表或计算图中选中一对张量即可查看其元素。</translation>
    </message>
    <message>
        <source>Only the reference has this tensor: there is nothing to compare it with.</source>
        <translation>只有参考运行有此张量：没有可比较的对象。</translation>
    </message>
    <message>
        <source>Only the candidate has this tensor: there is nothing to compare it with.</source>
        <translation>只有候选运行有此张量：没有可比较的对象。</translation>
    </message>
    <message>
        <source>The shapes cannot be related: A %1, B %2. Their elements cannot be laid over each other.</source>
        <translation>形状无法对应：A %1，B %2。元素无法重叠比较。</translation>
    </message>
    <message>
        <source>The recorder could not see this tensor on one side.</source>
        <translation>记录器在一侧无法看到此张量。</translation>
    </message>
    <message>
        <source>The parts of this tensor could not be put together.</source>
        <translation>此张量的各部分无法拼合。</translation>
    </message>
    <message>
        <source>This pair is not measured yet. Its elements appear when it is.</source>
        <translation>这对张量尚未测量。测量后显示其元素。</translation>
    </message>
    <message>
        <source>This pair was not measured: the comparison was stopped. Compare again to see its elements.</source>
        <translation>这对张量未测量：比较已停止。重新比较即可查看其元素。</translation>
    </message>
    <message>
        <source>A has %1 elements and B %2, so they cannot be laid over each other.</source>
        <translation>A 有 %1 个元素，B 有 %2 个，无法重叠比较。</translation>
    </message>
    <message>
        <source>This tensor has no elements: its shape is %1.</source>
        <translation>此张量没有元素：形状为 %1。</translation>
    </message>
    <message>
        <source>Neither run recorded the values of this tensor.</source>
        <translation>两次运行都没有记录此张量的值。</translation>
    </message>
    <message>
        <source>The reference did not record the values of this tensor.</source>
        <translation>参考运行没有记录此张量的值。</translation>
    </message>
    <message>
        <source>The candidate did not record the values of this tensor.</source>
        <translation>候选运行没有记录此张量的值。</translation>
    </message>
    <message>
        <source>Both have the same digest, so they are equal in every bit.</source>
        <translation>两者摘要相同，因此逐位相等。</translation>
    </message>
    <message>
        <source>There are a digest and statistics only; they are in the details.</source>
        <translation>只有摘要与统计量，见详细信息。</translation>
    </message>
    <message>
        <source>Record it with its values to see the elements.</source>
        <translation>连同数值一起记录即可查看元素。</translation>
    </message>
    <message>
        <source>Reading was stopped.</source>
        <translation>读取已停止。</translation>
    </message>
    <message>
        <source>The elements could not be read.

%1

If the run is on a disk that was away, read again; if the file is damaged, copy or record the run again.</source>
        <translation>无法读取元素。

%1

若运行所在的磁盘曾断开，请重新读取；若文件已损坏，请重新复制或重新记录。</translation>
    </message>
    <message>
        <source>“%1” is no whole number.</source>
        <translation>“%1”不是整数。</translation>
    </message>
    <message>
        <source>The tensor has the flat indexes 0 to %1.</source>
        <translation>此张量的扁平下标为 0 至 %1。</translation>
    </message>
    <message numerus="yes">
        <source>%n number(s) are needed, one per dim, or one flat index.</source>
        <translation>
            <numerusform>需要 %n 个数，每维一个；或一个扁平下标。</numerusform>
        </translation>
    </message>
    <message>
        <source>Dim %1 has the indexes 0 to %2.</source>
        <translation>维 %1 的下标为 0 至 %2。</translation>
    </message>
    <message>
        <source>column %1</source>
        <translation>第 %1 列</translation>
    </message>
    <message>
        <source>row %1</source>
        <translation>第 %1 行</translation>
    </message>
    <message>
        <source>columns %1-%2</source>
        <translation>第 %1-%2 列</translation>
    </message>
    <message>
        <source>rows %1-%2</source>
        <translation>第 %1-%2 行</translation>
    </message>
    <message>
        <source>%1 rank %2, micro-step %3</source>
        <comment>side</comment>
        <translation>%1 rank %2，微步 %3</translation>
    </message>
    <message>
        <source>%1 rank %2</source>
        <comment>side</comment>
        <translation>%1 rank %2</translation>
    </message>
    <message>
        <source>%1 micro-step %2</source>
        <comment>side</comment>
        <translation>%1 微步 %2</translation>
    </message>
    <message>
        <source>The two tensors are equal in every bit. Their elements are not in this portable comparison.</source>
        <translation>两个张量逐位相同。此便携比较文件中不含其元素。</translation>
    </message>
    <message>
        <source>The elements of this tensor are not in this portable comparison: it was written without any tensors.</source>
        <translation>此便携比较文件中不含该张量的元素：写入时未保留任何张量。</translation>
    </message>
    <message>
        <source>The elements of this tensor are not in this portable comparison: it holds those of the fork and of the pairs that differ most, as far as its size allows.</source>
        <translation>此便携比较文件中不含该张量的元素：在大小允许的范围内，只保留分叉处以及差异最大的张量对的元素。</translation>
    </message>
    <message>
        <source>To see them, open the two runs that it was made from:</source>
        <translation>要查看元素，请打开生成该文件的两次运行：</translation>
    </message>
</context>
<context>
    <name>LogWords</name>
    <message numerus="yes">
        <source>largest relative difference %1 at step %2, over %n common step(s)</source>
        <translation>
            <numerusform>最大相对差 %1，在第 %2 步，共 %n 个共同的步</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>no difference of finite values, over %n common step(s)</source>
        <translation>
            <numerusform>有限值没有差异，共 %n 个共同的步</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 agrees over %n common step(s).</source>
        <translation>
            <numerusform>%1 在 %n 个共同的步上一致。</numerusform>
        </translation>
    </message>
    <message>
        <source>All %1 common curves agree.</source>
        <translation>共有的 %1 条曲线全部一致。</translation>
    </message>
    <message>
        <source>%1 departs at step %2: A %3, B %4.</source>
        <translation>%1 在第 %2 步分开：A %3，B %4。</translation>
    </message>
    <message>
        <source>%1 departs first, at step %2: A %3, B %4.</source>
        <translation>%1 最先分开，在第 %2 步：A %3，B %4。</translation>
    </message>
    <message>
        <source>%1: %2.</source>
        <comment>name of a curve, its distance</comment>
        <translation>%1：%2。</translation>
    </message>
    <message>
        <source>%1 departs at step %2.</source>
        <translation>%1 在第 %2 步分开。</translation>
    </message>
    <message>
        <source>%1 agrees.</source>
        <translation>%1 一致。</translation>
    </message>
    <message>
        <source>%1.</source>
        <comment>a sentence</comment>
        <translation>%1。</translation>
    </message>
    <message>
        <source>tolerance %1 or the last written digit</source>
        <translation>容差 %1 或所写的末位</translation>
    </message>
    <message>
        <source>One curve is on both sides</source>
        <translation>双方共有一条曲线</translation>
    </message>
    <message>
        <source>%1 of %2 common curves depart</source>
        <translation>共有的 %2 条曲线中有 %1 条分开</translation>
    </message>
    <message>
        <source>%1 curves are on both sides</source>
        <translation>双方共有 %1 条曲线</translation>
    </message>
    <message>
        <source>only in B</source>
        <translation>仅 B 有</translation>
    </message>
    <message>
        <source>only in A</source>
        <translation>仅 A 有</translation>
    </message>
    <message>
        <source>no common step</source>
        <translation>没有共同的步</translation>
    </message>
    <message>
        <source>departs at step %1</source>
        <translation>在第 %1 步分开</translation>
    </message>
    <message>
        <source>agrees</source>
        <translation>一致</translation>
    </message>
    <message>
        <source>, </source>
        <comment>between parts of a sentence</comment>
        <translation>，</translation>
    </message>
    <message>
        <source>%1; in B it is called %2</source>
        <translation>%1；在 B 中名为 %2</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <comment>common steps</comment>
        <translation>%1 / %2</translation>
    </message>
    <message numerus="yes">
        <source>%1: %2 (%3, %n curve(s))</source>
        <comment>letter, name, format</comment>
        <translation>
            <numerusform>%1：%2（%3，%n 条曲线）</numerusform>
        </translation>
    </message>
    <message>
        <source>and %1 more</source>
        <translation>以及另外 %1 条</translation>
    </message>
    <message numerus="yes">
        <source>equal over %n common step(s)</source>
        <translation>
            <numerusform>%n 个共同的步上相等</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Metrics</name>
    <message>
        <source>%1 (%2 %)</source>
        <comment>count (share)</comment>
        <translation>%1（%2 %）</translation>
    </message>
    <message>
        <source>There A is %1 and B is %2.</source>
        <translation>该处 A 为 %1，B 为 %2。</translation>
    </message>
    <message>
        <source>× floor</source>
        <translation>× 底噪</translation>
    </message>
    <message>
        <source>The larger of error / floor and max |d| / (16 × floor × largest magnitude): up to 1 is noise, up to 100 drift, above divergent.</source>
        <translation>取“误差 / 底噪”与“max |d| /（16 × 底噪 × 最大幅值）”中较大者：不超过 1 为噪声，不超过 100 为漂移，更大为偏离。</translation>
    </message>
    <message>
        <source>error</source>
        <translation>误差</translation>
    </message>
    <message>
        <source>|B − A| / max(|A|, |B|, S) in the 2-norm. S applies to parameter gradients: the largest rms gradient in the module times √n.</source>
        <translation>2-范数下的 |B − A| / max(|A|, |B|, S)。S 只用于参数梯度：模块内最大的均方根梯度乘以 √n。</translation>
    </message>
    <message>
        <source>floor</source>
        <translation>底噪</translation>
    </message>
    <message>
        <source>What rounding explains: estimated from the narrowest type that computed it (32 u for float32 and wider, 4 u for half types), or measured by a repeat of A where that showed more. Integers have none.</source>
        <translation>舍入所能解释的误差：按参与计算的最窄类型估计（float32 及更宽为 32 u，半精度类型为 4 u）；若重复运行 A 测得更大，则以实测为准。整数没有底噪。</translation>
    </message>
    <message>
        <source>inherited</source>
        <translation>继承误差</translation>
    </message>
    <message>
        <source>Largest error among the recorded inputs of the pair.</source>
        <translation>该张量对已记录的输入中最大的误差。</translation>
    </message>
    <message>
        <source>new error here</source>
        <translation>此处新增误差</translation>
    </message>
    <message>
        <source>max(0, error − inherited): what this pair adds to what it was given.</source>
        <translation>max(0, 误差 − 继承误差)：该张量对在其输入之上新增的误差。</translation>
    </message>
    <message>
        <source>relative L2</source>
        <translation>相对 L2</translation>
    </message>
    <message>
        <source>|d| / max(|A|, |B|) in the 2-norm, over elements finite on both sides; 0 if both are zero. d = B − A.</source>
        <translation>2-范数下的 |d| / max(|A|, |B|)，只计两侧均为有限值的元素；两侧均为零时为 0。d = B − A。</translation>
    </message>
    <message>
        <source>relative L∞</source>
        <translation>相对 L∞</translation>
    </message>
    <message>
        <source>max |d| / max(max |A|, max |B|).</source>
        <translation>max |d| / max(max |A|, max |B|)。</translation>
    </message>
    <message>
        <source>max |d|</source>
        <translation>max |d|</translation>
    </message>
    <message>
        <source>Largest |B − A|, with its index; of several the first.</source>
        <translation>最大的 |B − A| 及其下标；有多个时取第一个。</translation>
    </message>
    <message>
        <source>max relative</source>
        <translation>最大相对误差</translation>
    </message>
    <message>
        <source>Largest |d| / max(|a|, |b|), the symmetric relative error; 0/0 is 0. Other tools divide by |b| alone.</source>
        <translation>最大的 |d| / max(|a|, |b|)，即对称相对误差；0/0 记为 0。其他工具只除以 |b|。</translation>
    </message>
    <message>
        <source>mean |d|</source>
        <translation>平均 |d|</translation>
    </message>
    <message>
        <source>Mean of |B − A|.</source>
        <translation>|B − A| 的平均值。</translation>
    </message>
    <message>
        <source>mean d (bias)</source>
        <translation>平均 d（偏置）</translation>
    </message>
    <message>
        <source>Mean of B − A: a bias where it is not small against mean |d|.</source>
        <translation>B − A 的平均值：若与平均 |d| 相比不算小，则存在偏置。</translation>
    </message>
    <message>
        <source>RMSE</source>
        <translation>RMSE</translation>
    </message>
    <message>
        <source>Square root of the mean of d².</source>
        <translation>d² 平均值的平方根。</translation>
    </message>
    <message>
        <source>cosine</source>
        <translation>余弦</translation>
    </message>
    <message>
        <source>&lt;A, B&gt; / (|A| |B|); 1 if both are zero, 0 if one is.</source>
        <translation>&lt;A, B&gt; / (|A| |B|)；两侧均为零时为 1，仅一侧为零时为 0。</translation>
    </message>
    <message>
        <source>norm ratio</source>
        <translation>范数比</translation>
    </message>
    <message>
        <source>|B| / |A|; 1 if both are zero.</source>
        <translation>|B| / |A|；两侧均为零时为 1。</translation>
    </message>
    <message>
        <source>best scale</source>
        <translation>最佳比例</translation>
    </message>
    <message>
        <source>s = &lt;A, B&gt; / &lt;A, A&gt;, the factor that minimises |B − s A|; 1 if A is zero.</source>
        <translation>s = &lt;A, B&gt; / &lt;A, A&gt;，使 |B − s A| 最小的系数；A 为零时为 1。</translation>
    </message>
    <message>
        <source>its residual</source>
        <translation>其残差</translation>
    </message>
    <message>
        <source>|B − s A| / |B| with the best scale s: small where one factor explains the whole difference.</source>
        <translation>取最佳比例 s 时的 |B − s A| / |B|：若很小，则全部差异可由一个系数解释。</translation>
    </message>
    <message>
        <source>bit-equal</source>
        <translation>逐位相等</translation>
    </message>
    <message>
        <source>Elements with the same bits; types of different width count as equal if the values are.</source>
        <translation>各位完全相同的元素；类型宽度不同时，值相等即视为相等。</translation>
    </message>
    <message>
        <source>allclose violations</source>
        <translation>allclose 不符</translation>
    </message>
    <message>
        <source>Elements with |d| &gt; atol + rtol × |a|, as torch.isclose(B, A) with rtol 1.3e-6 and atol 1e-5; NaN and unequal infinities violate.</source>
        <translation>满足 |d| &gt; atol + rtol × |a| 的元素，同 torch.isclose(B, A)，rtol 为 1.3e-6，atol 为 1e-5；NaN 和不相等的无穷大也算不符。</translation>
    </message>
    <message>
        <source>zero on one side</source>
        <translation>仅一侧为零</translation>
    </message>
    <message>
        <source>Elements that are zero on one side only.</source>
        <translation>只在一侧为零的元素。</translation>
    </message>
    <message>
        <source>factor z</source>
        <translation>比例 z</translation>
    </message>
    <message>
        <source>&lt;a, d&gt; / √Σ a² d²: about N(0, 1) if the errors are independent; beyond 6 a factor runs through the difference.</source>
        <translation>&lt;a, d&gt; / √Σ a² d²：误差相互独立时近似服从 N(0, 1)；超过 6 说明差异中存在公共系数。</translation>
    </message>
    <message>
        <source>bias z</source>
        <translation>偏置 z</translation>
    </message>
    <message>
        <source>Σ d / √Σ d²: about N(0, 1) if the errors are independent; beyond 6 a bias runs through the difference.</source>
        <translation>Σ d / √Σ d²：误差相互独立时近似服从 N(0, 1)；超过 6 说明差异中存在偏置。</translation>
    </message>
    <message>
        <source>error of the values</source>
        <translation>数值误差</translation>
    </message>
    <message>
        <source>Relative L2 difference of the parameters themselves; all other numbers are of their update (after − start).</source>
        <translation>参数本身的相对 L2 差异；其余各项均针对参数的更新量（更新后 − 开始时）。</translation>
    </message>
    <message>
        <source>ill-conditioned</source>
        <translation>病态元素</translation>
    </message>
    <message>
        <source>Elements left out: their gradient is itself within the floor, and decides the sign of their update.</source>
        <translation>未计入的元素：它们的梯度本身就在底噪之内，却决定了更新的符号。</translation>
    </message>
    <message>
        <source>elements</source>
        <translation>元素数</translation>
    </message>
    <message>
        <source>Elements compared; %1 of them are finite on both sides.</source>
        <translation>参与比较的元素；其中 %1 个两侧均为有限值。</translation>
    </message>
    <message>
        <source>min</source>
        <translation>最小值</translation>
    </message>
    <message>
        <source>Smallest finite element.</source>
        <translation>最小的有限元素。</translation>
    </message>
    <message>
        <source>max</source>
        <translation>最大值</translation>
    </message>
    <message>
        <source>Largest finite element.</source>
        <translation>最大的有限元素。</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>平均值</translation>
    </message>
    <message>
        <source>Mean of the finite elements.</source>
        <translation>有限元素的平均值。</translation>
    </message>
    <message>
        <source>std</source>
        <translation>标准差</translation>
    </message>
    <message>
        <source>Standard deviation of the finite elements (population, divisor n).</source>
        <translation>有限元素的标准差（总体，除以 n）。</translation>
    </message>
    <message>
        <source>2-norm</source>
        <translation>2-范数</translation>
    </message>
    <message>
        <source>√Σ x² over the finite elements.</source>
        <translation>有限元素的 √Σ x²。</translation>
    </message>
    <message>
        <source>zeros</source>
        <translation>零元素</translation>
    </message>
    <message>
        <source>Elements equal to zero.</source>
        <translation>等于零的元素。</translation>
    </message>
    <message>
        <source>NaN</source>
        <translation>NaN</translation>
    </message>
    <message>
        <source>Elements that are not a number; %1 of them on both sides at once.</source>
        <translation>值为 NaN 的元素；其中 %1 个两侧同时为 NaN。</translation>
    </message>
    <message>
        <source>infinite</source>
        <translation>无穷大</translation>
    </message>
    <message>
        <source>Infinite elements; %1 of them the same on both sides.</source>
        <translation>值为无穷大的元素；其中 %1 个两侧相同。</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>assembled</source>
        <translation>拼合</translation>
    </message>
    <message>
        <source>Equal digests: the bytes are the same and were not read.</source>
        <translation>摘要相同：字节一致，未再读取。</translation>
    </message>
    <message>
        <source>absent</source>
        <translation>无</translation>
    </message>
    <message>
        <source>Expected: this differs between any two such runs.</source>
        <translation>属预期差异：任意两次这样的运行都会不同。</translation>
    </message>
    <message>
        <source>not readable</source>
        <translation>无法读取</translation>
    </message>
</context>
<context>
    <name>PairWords</name>
    <message>
        <source>start</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>data</source>
        <translation>数据</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>前向</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>reduce</source>
        <translation>归约</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <source>batch</source>
        <translation>batch</translation>
    </message>
    <message>
        <source>input</source>
        <translation>输入</translation>
    </message>
    <message>
        <source>output</source>
        <translation>输出</translation>
    </message>
    <message>
        <source>grad of output</source>
        <translation>输出梯度</translation>
    </message>
    <message>
        <source>grad</source>
        <translation>梯度</translation>
    </message>
    <message>
        <source>param</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>buffer</source>
        <translation>buffer</translation>
    </message>
    <message>
        <source>optimizer state</source>
        <translation>优化器状态</translation>
    </message>
    <message>
        <source>scale</source>
        <translation>缩放</translation>
    </message>
    <message>
        <source>mapped</source>
        <translation>映射</translation>
    </message>
    <message>
        <source>same name</source>
        <translation>同名</translation>
    </message>
    <message>
        <source>unwrapped name</source>
        <translation>去前缀同名</translation>
    </message>
    <message>
        <source>class and order</source>
        <translation>类与顺序</translation>
    </message>
    <message>
        <source>slot order</source>
        <translation>槽位顺序</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>The mapping that you gave says so (%1).</source>
        <translation>由您给出的映射指定（%1）。</translation>
    </message>
    <message>
        <source>Both runs use the same name.</source>
        <translation>两次运行中名称相同。</translation>
    </message>
    <message>
        <source>The names are equal once the prefixes of wrappers (DDP, FSDP, compile) are taken off.</source>
        <translation>去掉包装器（DDP、FSDP、compile）的前缀后名称相同。</translation>
    </message>
    <message>
        <source>The modules have the same class and parameters, in the same order under a matched parent.</source>
        <translation>两个模块的类与参数相同，且在已匹配的父模块下顺序一致。</translation>
    </message>
    <message>
        <source>Same module and call; the slots have other names (position against keyword).</source>
        <translation>模块与调用相同，槽位名称不同（位置参数与关键字参数）。</translation>
    </message>
    <message>
        <source>%1 How the ranks&apos; parts fit together was not declared: it is a guess from shapes and content.</source>
        <translation>%1 各 rank 的部分如何拼合没有声明，是根据形状和内容推测的。</translation>
    </message>
    <message>
        <source>Exists in the reference only.</source>
        <translation>只存在于参考运行。</translation>
    </message>
    <message>
        <source>Exists in the candidate only.</source>
        <translation>只存在于候选运行。</translation>
    </message>
    <message>
        <source>Matched by name, but the shapes cannot be related.</source>
        <translation>名称匹配，但形状无法对应。</translation>
    </message>
    <message>
        <source>The recorder could not see it on one side.</source>
        <translation>记录器在其中一侧观察不到它。</translation>
    </message>
    <message>
        <source>%1 / %2</source>
        <comment>phase / name</comment>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>%1 / grad of %2</source>
        <comment>phase / gradient of a module&apos;s output</comment>
        <translation>%1 / %2 的输出梯度</translation>
    </message>
    <message>
        <source>%1 / %2 (%3)</source>
        <comment>phase / name (kind)</comment>
        <translation>%1 / %2（%3）</translation>
    </message>
    <message>
        <source>%1, micro-step %2</source>
        <translation>%1，微步 %2</translation>
    </message>
    <message>
        <source>scalar</source>
        <translation>标量</translation>
    </message>
    <message numerus="yes">
        <source>%n rank(s)</source>
        <translation>
            <numerusform>%n 个 rank</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 of %n rank(s)</source>
        <translation>
            <numerusform>%1 / %n 个 rank</numerusform>
        </translation>
    </message>
    <message>
        <source>fwd</source>
        <comment>short for forward</comment>
        <translation>前向</translation>
    </message>
    <message>
        <source>bwd</source>
        <comment>short for backward</comment>
        <translation>反向</translation>
    </message>
    <message>
        <source>red</source>
        <comment>short for reduce</comment>
        <translation>归约</translation>
    </message>
    <message>
        <source>opt</source>
        <comment>short for optimizer</comment>
        <translation>优化器</translation>
    </message>
</context>
<context>
    <name>Samples</name>
    <message>
        <source>Summed loss under DDP</source>
        <translation>DDP 下求和的 loss</translation>
    </message>
    <message>
        <source>Healthy: one process and two</source>
        <translation>正常：单进程与双进程</translation>
    </message>
    <message>
        <source>A fault in one layer</source>
        <translation>某一层出错</translation>
    </message>
    <message>
        <source>The loss is a sum over the batch and DDP averages gradients: every gradient is halved.</source>
        <translation>loss 对 batch 求和，而 DDP 对梯度取平均：所有梯度都减半。</translation>
    </message>
    <message>
        <source>The same training in one process and in two: they agree within rounding.</source>
        <translation>同一训练分别用一个进程和两个进程：在舍入误差内一致。</translation>
    </message>
    <message>
        <source>One module computes something else in one of two single-process runs.</source>
        <translation>两次单进程运行中，有一次的某个模块计算有误。</translation>
    </message>
    <message>
        <source>%1 (portable)</source>
        <comment>a comparison in one file</comment>
        <translation>%1（便携）</translation>
    </message>
    <message>
        <source>%1 against %2</source>
        <translation>%1 对比 %2</translation>
    </message>
</context>
<context>
    <name>Severity</name>
    <message>
        <source>identical</source>
        <translation>一致</translation>
    </message>
    <message>
        <source>noise</source>
        <translation>噪声</translation>
    </message>
    <message>
        <source>unmatched</source>
        <translation>未匹配</translation>
    </message>
    <message>
        <source>drift</source>
        <translation>漂移</translation>
    </message>
    <message>
        <source>divergent</source>
        <translation>偏离</translation>
    </message>
    <message>
        <source>invalid</source>
        <translation>无效</translation>
    </message>
</context>
<context>
    <name>VerdictWords</name>
    <message>
        <source>in the environment</source>
        <comment>where the runs fork</comment>
        <translation>的环境</translation>
    </message>
    <message>
        <source>in the data</source>
        <comment>where the runs fork</comment>
        <translation>的数据</translation>
    </message>
    <message>
        <source>in the initial weights</source>
        <comment>where the runs fork</comment>
        <translation>的初始权重</translation>
    </message>
    <message>
        <source>in the forward pass</source>
        <comment>where the runs fork</comment>
        <translation>的前向计算</translation>
    </message>
    <message>
        <source>in the loss</source>
        <comment>where the runs fork</comment>
        <translation>的 loss</translation>
    </message>
    <message>
        <source>in the backward pass</source>
        <comment>where the runs fork</comment>
        <translation>的反向传播</translation>
    </message>
    <message>
        <source>in the reduced gradients</source>
        <comment>where the runs fork</comment>
        <translation>归约后的梯度</translation>
    </message>
    <message>
        <source>in the optimizer step</source>
        <comment>where the runs fork</comment>
        <translation>的优化器更新</translation>
    </message>
    <message>
        <source>the batch</source>
        <translation>batch</translation>
    </message>
    <message>
        <source>input of %1</source>
        <translation>%1 的输入</translation>
    </message>
    <message>
        <source>the loss</source>
        <translation>loss</translation>
    </message>
    <message>
        <source>output of %1</source>
        <translation>%1 的输出</translation>
    </message>
    <message>
        <source>gradient of the output of %1</source>
        <translation>%1 的输出梯度</translation>
    </message>
    <message>
        <source>gradient of %1</source>
        <translation>%1 的梯度</translation>
    </message>
    <message>
        <source>parameter %1</source>
        <translation>参数 %1</translation>
    </message>
    <message>
        <source>buffer %1</source>
        <translation>buffer %1</translation>
    </message>
    <message>
        <source>optimizer state of %1</source>
        <translation>%1 的优化器状态</translation>
    </message>
    <message>
        <source>loss scale %1</source>
        <translation>loss 缩放 %1</translation>
    </message>
    <message>
        <source>Nothing could be compared: no tensor exists on both sides.</source>
        <translation>无可比较：没有两侧都存在的张量。</translation>
    </message>
    <message numerus="yes">
        <source>The runs are bit-identical in all %n compared tensor(s).</source>
        <translation>
            <numerusform>所比较的 %n 个张量全部逐位一致。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The runs agree within rounding in all %n compared tensor(s).</source>
        <translation>
            <numerusform>所比较的 %n 个张量在舍入误差内全部一致。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) bit-identical.</source>
        <translation>
            <numerusform>%n 个张量逐位一致。</numerusform>
        </translation>
    </message>
    <message>
        <source>Closest to the floor: step %1, %2: %3.</source>
        <translation>最接近底噪的是第 %1 步 %2：%3。</translation>
    </message>
    <message>
        <source>differing in bits</source>
        <translation>比特不同</translation>
    </message>
    <message>
        <source>above the floor</source>
        <translation>超出底噪</translation>
    </message>
    <message>
        <source>pending</source>
        <translation>待比较</translation>
    </message>
    <message>
        <source>, </source>
        <comment>between parts of a list</comment>
        <translation>，</translation>
    </message>
    <message>
        <source>not measured yet</source>
        <translation>尚未比较</translation>
    </message>
    <message>
        <source>not compared</source>
        <translation>未比较</translation>
    </message>
    <message>
        <source>bit-identical</source>
        <translation>逐位一致</translation>
    </message>
    <message>
        <source>not finite in different places: NaN %1 in A, %2 in B; infinite %3 in A, %4 in B</source>
        <translation>非有限值的位置不同：NaN 在 A 中 %1 个、B 中 %2 个；无穷大在 A 中 %3 个、B 中 %4 个</translation>
    </message>
    <message>
        <source>relative difference of the update %1</source>
        <translation>更新量的相对差异 %1</translation>
    </message>
    <message>
        <source>relative difference %1</source>
        <translation>相对差异 %1</translation>
    </message>
    <message>
        <source>%1 times the floor</source>
        <translation>为底噪的 %1 倍</translation>
    </message>
    <message>
        <source>%1 of %2 elements differ</source>
        <translation>%2 个元素中有 %1 个不同</translation>
    </message>
    <message>
        <source>B = %1 × A up to %2</source>
        <translation>B = %1 × A（残差 %2）</translation>
    </message>
    <message>
        <source>small, but not random: a factor or a bias runs through it</source>
        <translation>差异虽小但并非随机：存在公共系数或偏置</translation>
    </message>
    <message>
        <source>worst on rank %1</source>
        <translation>rank %1 上最严重</translation>
    </message>
    <message>
        <source>The runs fork at step %1 %2: %3 exists in the reference only.</source>
        <translation>两次运行在第 %1 步%2处分叉：%3 只存在于参考运行。</translation>
    </message>
    <message>
        <source>The runs fork at step %1 %2: %3 exists in the candidate only.</source>
        <translation>两次运行在第 %1 步%2处分叉：%3 只存在于候选运行。</translation>
    </message>
    <message>
        <source>The runs fork at step %1 %2: %3.</source>
        <translation>两次运行在第 %1 步%2处分叉：%3。</translation>
    </message>
    <message>
        <source>The runs differ, first at step %1 %2: %3.</source>
        <translation>两次运行不同，最早出现在第 %1 步%2：%3。</translation>
    </message>
    <message>
        <source>What it feeds differs.</source>
        <translation>由它计算的结果不同。</translation>
    </message>
    <message>
        <source>.</source>
        <comment>end of a sentence</comment>
        <translation>。</translation>
    </message>
    <message>
        <source>Not all of its inputs agree or were recorded.</source>
        <translation>它的输入并非全部一致或全部有记录。</translation>
    </message>
    <message>
        <source>Nothing recorded comes before it.</source>
        <translation>在它之前没有记录。</translation>
    </message>
    <message numerus="yes">
        <source>All %n recorded tensor(s) it was computed from agree.</source>
        <translation>
            <numerusform>计算它所用的 %n 个已记录张量全部一致。</numerusform>
        </translation>
    </message>
    <message>
        <source>Everything before agrees within %1 times the floor.</source>
        <translation>此前全部在底噪的 %1 倍以内。</translation>
    </message>
    <message>
        <source>Everything before is bit-identical.</source>
        <translation>此前全部逐位一致。</translation>
    </message>
    <message>
        <source>coverage: %1 of %2 module calls</source>
        <translation>覆盖：%1 / %2 次模块调用</translation>
    </message>
    <message>
        <source>coverage: module calls not counted</source>
        <translation>覆盖：未统计模块调用</translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s) not observed</source>
        <translation>
            <numerusform>%n 项未观察到</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) on one side only</source>
        <translation>
            <numerusform>%n 个张量只在一侧</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n rank(s) did not end regularly</source>
        <translation>
            <numerusform>%n 个 rank 未正常结束</numerusform>
        </translation>
    </message>
    <message>
        <source>nothing unseen</source>
        <translation>无遗漏</translation>
    </message>
    <message>
        <source>Step %1: %2</source>
        <translation>第 %1 步：%2</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>%1: module calls were not counted</source>
        <translation>%1：未统计模块调用</translation>
    </message>
    <message>
        <source>%1: %2 of %3 module calls seen</source>
        <translation>%1：看到 %2 / %3 次模块调用</translation>
    </message>
    <message>
        <source>%1: %2 of %3 ranks did not end regularly</source>
        <translation>%1：%3 个 rank 中有 %2 个未正常结束</translation>
    </message>
    <message>
        <source>%1: not observed: %2</source>
        <translation>%1：未观察到：%2</translation>
    </message>
    <message numerus="yes">
        <source>%n pair(s) could not be read</source>
        <translation>
            <numerusform>%n 个张量对无法读取</numerusform>
        </translation>
    </message>
    <message>
        <source>floor: measured (A against %1)</source>
        <translation>底噪：实测（A 对 %1）</translation>
    </message>
    <message>
        <source>floor: estimated</source>
        <translation>底噪：估计</translation>
    </message>
    <message>
        <source>Forkpoint: A = %1, B = %2</source>
        <translation>Forkpoint：A = %1，B = %2</translation>
    </message>
    <message>
        <source>; </source>
        <comment>between clauses</comment>
        <translation>；</translation>
    </message>
    <message>
        <source>B = %1 × A exactly</source>
        <translation>B 恰为 %1 × A</translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) could not be read.</source>
        <translation>
            <numerusform>%n 个张量无法读取。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) exist on one side only.</source>
        <translation>
            <numerusform>%n 个张量只存在于一侧。</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing that must be equal on all ranks was compared.</source>
        <translation>没有比较到任何必须在所有 rank 上相等的内容。</translation>
    </message>
    <message>
        <source>Nothing could be compared.</source>
        <translation>没有任何内容可以比较。</translation>
    </message>
    <message numerus="yes">
        <source>No tensor could be decided: %n exceed(s) the floor, but may have grown from rounding.</source>
        <translation>
            <numerusform>没有张量可以判定：%n 个超过底噪，但可能由舍入误差增长而来。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Weights, reduced gradients and optimizer are bit-identical in %n compared tensor(s).</source>
        <translation>
            <numerusform>权重、归约后的梯度和优化器在所比较的 %n 个张量中逐位一致。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Weights, reduced gradients and optimizer agree within rounding in %n compared tensor(s).</source>
        <translation>
            <numerusform>权重、归约后的梯度和优化器在所比较的 %n 个张量中在舍入误差内一致。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The runs are bit-identical in the %n tensor(s) that could be compared.</source>
        <translation>
            <numerusform>在能够比较的 %n 个张量中，两次运行逐位一致。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The runs agree within rounding in the %n tensor(s) that could be compared.</source>
        <translation>
            <numerusform>在能够比较的 %n 个张量中，两次运行在舍入误差内一致。</numerusform>
        </translation>
    </message>
    <message>
        <source>Ranks %1 and %2 of one run: their data differ by design.</source>
        <translation>同一次运行的 rank %1 和 rank %2：它们的数据本来就不同。</translation>
    </message>
    <message numerus="yes">
        <source>%n tensor(s) in later steps exceed the floor, but may have grown from rounding.</source>
        <translation>
            <numerusform>后续步中有 %n 个张量超过底噪，但可能由舍入误差增长而来。</numerusform>
        </translation>
    </message>
    <message>
        <source>They fork at step %1 %2: %3.</source>
        <translation>它们在第 %1 步%2处分叉：%3。</translation>
    </message>
    <message>
        <source>It must be equal on all ranks.</source>
        <translation>它在所有 rank 上必须相等。</translation>
    </message>
    <message>
        <source>None of its recorded inputs could be compared.</source>
        <translation>它的已记录输入都无法比较。</translation>
    </message>
    <message>
        <source>None of its inputs was recorded.</source>
        <translation>它的输入都没有被记录。</translation>
    </message>
    <message numerus="yes">
        <source>%n problem(s) in the bundles</source>
        <translation>
            <numerusform>bundle 中有 %n 个问题</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n rank(s) not compared</source>
        <translation>
            <numerusform>%n 个 rank 未比较</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n step(s) on one side only</source>
        <translation>
            <numerusform>%n 个步只存在于一侧</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n pair(s) with shapes that cannot be related</source>
        <translation>
            <numerusform>%n 对的形状无法对应</numerusform>
        </translation>
    </message>
    <message>
        <source>Look at weights, reduced gradients and optimizer.</source>
        <translation>请查看权重、归约后的梯度和优化器。</translation>
    </message>
    <message>
        <source>portable, with all tensors that differ</source>
        <translation>便携文件，含全部有差异的张量</translation>
    </message>
    <message>
        <source>portable, with %1 of %2 tensors that differ</source>
        <translation>便携文件，含 %2 个有差异张量中的 %1 个</translation>
    </message>
    <message>
        <source>Portable comparison, written by %1 at %2.</source>
        <translation>便携比较文件，由 %1 于 %2 写出。</translation>
    </message>
    <message>
        <source>Options: %1</source>
        <translation>选项：%1</translation>
    </message>
    <message>
        <source>%1: %2, from %3, identity %4</source>
        <comment>letter, name, path, digest</comment>
        <translation>%1：%2，来自 %3，标识 %4</translation>
    </message>
    <message>
        <source>It holds the elements of %1 differing pairs; those of %2 others are in the runs only.</source>
        <translation>文件含 %1 个有差异张量对的元素；另外 %2 个只在运行记录中。</translation>
    </message>
    <message>
        <source>1 tensor differs in bits; by how much was not recorded.</source>
        <translation>1 个张量的比特不同；未记录差异大小。</translation>
    </message>
    <message>
        <source>%1 tensors differ in bits; by how much was not recorded.</source>
        <translation>%1 个张量的比特不同；未记录差异大小。</translation>
    </message>
</context>
<context>
    <name>Words</name>
    <message>
        <source>only in A</source>
        <translation>仅 A 有</translation>
    </message>
    <message>
        <source>only in B</source>
        <translation>仅 B 有</translation>
    </message>
    <message>
        <source>Folder of a run, of tensor files or of logs…</source>
        <translation>运行、张量文件或日志的文件夹…</translation>
    </message>
    <message>
        <source>File: an archive of a run, tensors, or a log…</source>
        <translation>文件：运行的归档、张量或日志…</translation>
    </message>
    <message>
        <source>Runs and tensors (*.zip *.pt *.pth *.safetensors *.npy *.npz);;Logs (*.csv *.tsv *.jsonl *.json *.log *.txt *tfevents*);;All files (*)</source>
        <translation>运行和张量 (*.zip *.pt *.pth *.safetensors *.npy *.npz);;日志 (*.csv *.tsv *.jsonl *.json *.log *.txt *tfevents*);;所有文件 (*)</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::ContextView</name>
    <message>
        <source>section</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>key</source>
        <translation>键</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>equal ones too</source>
        <translation>包括相同项</translation>
    </message>
    <message>
        <source>Filter keys and values</source>
        <translation>筛选键和值</translation>
    </message>
    <message>
        <source>Filter the context</source>
        <translation>筛选上下文</translation>
    </message>
    <message>
        <source>Configuration, environment and code</source>
        <translation>配置、环境与代码</translation>
    </message>
    <message>
        <source>%1 unexpected, %2 expected differences</source>
        <translation>%1 项意外差异，%2 项预期差异</translation>
    </message>
    <message>
        <source>Neither run recorded its environment and configuration.</source>
        <translation>两次运行都没有记录环境与配置。</translation>
    </message>
    <message>
        <source>No entry contains “%1”.</source>
        <translation>没有包含“%1”的条目。</translation>
    </message>
    <message>
        <source>Environment, configuration and code are recorded and do not differ.</source>
        <translation>环境、配置与代码均有记录，且没有差异。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::CurveLegend</name>
    <message>
        <source>Legend: A %1, B %2, B - A</source>
        <translation>图例：A %1，B %2，B - A</translation>
    </message>
    <message>
        <source>B - A</source>
        <translation>B - A</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source> (relative %1)</source>
        <translation>（相对 %1）</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::CurvePlot</name>
    <message>
        <source>onset: step %1</source>
        <translation>起点：第 %1 步</translation>
    </message>
    <message>
        <source>|B - A|</source>
        <translation>|B - A|</translation>
    </message>
    <message>
        <source>B - A</source>
        <translation>B - A</translation>
    </message>
    <message>
        <source>recorded step %1: click to select it</source>
        <translation>已记录的第 %1 步：单击选中</translation>
    </message>
    <message>
        <source>no step that both runs have</source>
        <translation>两次运行没有共同的步</translation>
    </message>
    <message>
        <source>A and B are equal at every common step</source>
        <translation>A 与 B 在所有共同步上相等</translation>
    </message>
    <message>
        <source>nothing that can be drawn</source>
        <translation>没有可画的内容</translation>
    </message>
    <message>
        <source>no value above zero for a log axis</source>
        <translation>对数轴上没有大于零的值</translation>
    </message>
    <message>
        <source>no finite value</source>
        <translation>没有有限值</translation>
    </message>
    <message>
        <source>no common step with finite values on both sides</source>
        <translation>没有任何共同的步在两侧都有有限值</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::CurvesView</name>
    <message>
        <source>Curves</source>
        <translation>曲线</translation>
    </message>
    <message>
        <source>Scalar</source>
        <translation>标量</translation>
    </message>
    <message>
        <source>log</source>
        <translation>对数</translation>
    </message>
    <message>
        <source>Logarithmic axis for A and B. Values at or below zero cannot be shown on it; their number is told below.</source>
        <translation>A 与 B 用对数轴。小于等于零的值无法显示；其个数见下方说明。</translation>
    </message>
    <message>
        <source>Logarithmic values</source>
        <translation>数值取对数</translation>
    </message>
    <message>
        <source>log |B - A|</source>
        <translation>对数 |B - A|</translation>
    </message>
    <message>
        <source>Logarithmic axis for the size of the difference. Steps with equal values cannot be shown on it.</source>
        <translation>差异大小用对数轴。数值相等的步无法显示。</translation>
    </message>
    <message>
        <source>Logarithmic difference</source>
        <translation>差异取对数</translation>
    </message>
    <message>
        <source>smooth</source>
        <translation>平滑</translation>
    </message>
    <message>
        <source>Smoothing</source>
        <translation>平滑</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <source>Show all steps and values (Home, or a double click)</source>
        <translation>显示全部步与数值（Home 键或双击）</translation>
    </message>
    <message>
        <source>Plot of A, B and B - A over the steps</source>
        <translation>A、B 与 B - A 随步变化的曲线</translation>
    </message>
    <message>
        <source>Previous recorded step</source>
        <translation>上一个已记录的步</translation>
    </message>
    <message>
        <source>Next recorded step</source>
        <translation>下一个已记录的步</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>放大</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>缩小</translation>
    </message>
    <message>
        <source>Copy picture of the curves</source>
        <translation>复制曲线图</translation>
    </message>
    <message>
        <source>No loss was recorded, so there is no onset.</source>
        <translation>没有记录 loss，因此没有起点。</translation>
    </message>
    <message>
        <source>Open two runs to see their curves.</source>
        <translation>打开两次运行即可看到曲线。</translation>
    </message>
    <message>
        <source>The curves appear when the runs are compared.</source>
        <translation>比较完成后显示曲线。</translation>
    </message>
    <message>
        <source>The comparison was stopped before it came to the curves.</source>
        <translation>比较在得出曲线之前被停止。</translation>
    </message>
    <message>
        <source>There are no curves: the runs could not be compared.</source>
        <translation>没有曲线：无法比较这两次运行。</translation>
    </message>
    <message>
        <source>No scalars were recorded.

The recorder writes the loss of every step by itself when backward() runs; other numbers are added in the training script:
rec.scalar(&quot;grad_norm&quot;, value)

To record a run:
forkpoint-cli record -o RUN -- COMMAND</source>
        <translation>没有记录标量。

记录器会在 backward() 运行时自动记下每一步的 loss；其他数值可在训练脚本中添加：
rec.scalar(&quot;grad_norm&quot;, value)

记录一次运行：
forkpoint-cli record -o RUN -- COMMAND</translation>
    </message>
    <message>
        <source>off</source>
        <translation>关</translation>
    </message>
    <message>
        <source>%1 points</source>
        <translation>%1 点</translation>
    </message>
    <message>
        <source>Moving average, off. The recorded line stays below it.</source>
        <translation>滑动平均，已关闭。原始曲线保留在下方。</translation>
    </message>
    <message>
        <source>Exponential moving average, weight of the past %1. The recorded line stays below it; the readout is of recorded values.</source>
        <translation>指数滑动平均，历史权重 %1。原始曲线保留在下方；读数取自原始值。</translation>
    </message>
    <message>
        <source>smoothed over %1</source>
        <translation>平滑范围 %1</translation>
    </message>
    <message>
        <source>Previous step</source>
        <translation>上一步</translation>
    </message>
    <message>
        <source>Next step</source>
        <translation>下一步</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::DetailsPanel</name>
    <message>
        <source>metric</source>
        <translation>指标</translation>
    </message>
    <message>
        <source>value</source>
        <translation>值</translation>
    </message>
    <message>
        <source>side</source>
        <translation>一侧</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>× floor</source>
        <translation>× 底噪</translation>
    </message>
    <message>
        <source>error</source>
        <translation>误差</translation>
    </message>
    <message>
        <source>max |d|</source>
        <translation>max |d|</translation>
    </message>
    <message>
        <source>Selected pair</source>
        <translation>所选张量对</translation>
    </message>
    <message>
        <source>Metrics</source>
        <translation>指标</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>各 rank</translation>
    </message>
    <message>
        <source>Choose a pair in the list, or press F8 for the next divergence.</source>
        <translation>请在列表中选择，或按 F8 跳到下一处偏离。</translation>
    </message>
    <message>
        <source>.</source>
        <comment>end of a sentence</comment>
        <translation>。</translation>
    </message>
    <message>
        <source>Put together: %1.</source>
        <translation>拼合方式：%1。</translation>
    </message>
    <message>
        <source>Called at %1.</source>
        <translation>调用位置：%1。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::DropOverlay</name>
    <message>
        <source>Two runs: which is which is asked next</source>
        <translation>两次运行：接下来确认哪个是 A、哪个是 B</translation>
    </message>
    <message>
        <source>A, the reference</source>
        <translation>A，参考</translation>
    </message>
    <message>
        <source>B, the candidate</source>
        <translation>B，候选</translation>
    </message>
    <message>
        <source>A portable comparison</source>
        <translation>便携比较文件</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::DropZone</name>
    <message>
        <source>A, the reference</source>
        <translation>A，参考</translation>
    </message>
    <message>
        <source>B, the candidate</source>
        <translation>B，候选</translation>
    </message>
    <message>
        <source>reference</source>
        <translation>参考</translation>
    </message>
    <message>
        <source>candidate</source>
        <translation>候选</translation>
    </message>
    <message>
        <source>Drop a run, tensors or a log here, or click to choose.</source>
        <translation>将运行、张量或日志拖放到此处，或点击选择。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::ElementPanel</name>
    <message>
        <source>scalar</source>
        <translation>标量</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>sum of all ranks</source>
        <translation>所有 rank 之和</translation>
    </message>
    <message>
        <source>, micro-step %1</source>
        <translation>，微步 %1</translation>
    </message>
    <message>
        <source>A %1, B %2</source>
        <comment>places of both sides</comment>
        <translation>A %1，B %2</translation>
    </message>
    <message>
        <source>relative</source>
        <translation>相对</translation>
    </message>
    <message>
        <source>ULP</source>
        <translation>ULP</translation>
    </message>
    <message>
        <source>undefined</source>
        <translation>无定义</translation>
    </message>
    <message>
        <source>bits A</source>
        <translation>A 的位</translation>
    </message>
    <message>
        <source>bits B</source>
        <translation>B 的位</translation>
    </message>
    <message>
        <source>A xor B</source>
        <translation>A 异或 B</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>已固定</translation>
    </message>
    <message>
        <source>largest |B − A|</source>
        <translation>|B − A| 最大处</translation>
    </message>
    <message>
        <source>Element</source>
        <translation>元素</translation>
    </message>
    <message>
        <source>Click an element to pin it, or press an arrow key.</source>
        <translation>单击元素可固定它，也可按方向键。</translation>
    </message>
    <message>
        <source>under the mouse</source>
        <translation>鼠标处</translation>
    </message>
    <message>
        <source>Point at an element.</source>
        <translation>把鼠标移到元素上。</translation>
    </message>
    <message>
        <source>weighted sum of all ranks</source>
        <translation>所有 rank 的加权和</translation>
    </message>
    <message>
        <source>No difference.</source>
        <translation>没有差异。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::ErrorPage</name>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Choose other runs…</source>
        <translation>选择其他运行…</translation>
    </message>
    <message>
        <source>Start screen</source>
        <translation>开始界面</translation>
    </message>
    <message>
        <source>What could be read</source>
        <translation>已读取的内容</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::FindingsPanel</name>
    <message>
        <source>Findings</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>No verdict: the comparison was stopped.</source>
        <translation>没有结论：比较已停止。</translation>
    </message>
    <message>
        <source>Waiting for the verdict.</source>
        <translation>正在等待结论。</translation>
    </message>
    <message>
        <source>Nothing to explain: no pair is above the floor.</source>
        <translation>无需解释：没有超出底噪的张量对。</translation>
    </message>
    <message>
        <source>Select the fork point.</source>
        <translation>选中分叉点。</translation>
    </message>
    <message>
        <source>called at %1</source>
        <translation>调用位置：%1</translation>
    </message>
    <message numerus="yes">
        <source>Not all of its inputs agree or were recorded. In agreement: %n</source>
        <translation>
            <numerusform>它的输入并非全部一致或全部有记录。一致的有 %n 个</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing recorded comes before it.</source>
        <translation>在它之前没有记录。</translation>
    </message>
    <message numerus="yes">
        <source>Its %n recorded input(s) agree:</source>
        <translation>
            <numerusform>它的 %n 个已记录输入一致：</numerusform>
        </translation>
    </message>
    <message>
        <source>(first %1)</source>
        <translation>（前 %1 个）</translation>
    </message>
    <message>
        <source>The first pair above the floor whose inputs agree:</source>
        <translation>输入一致而结果超过底噪的第一对张量：</translation>
    </message>
    <message>
        <source>The first pair above the floor:</source>
        <translation>超过底噪的第一对张量：</translation>
    </message>
    <message>
        <source>Nothing to explain: what must be equal on all ranks agrees.</source>
        <translation>无需解释：所有 rank 上必须相等的内容一致。</translation>
    </message>
    <message>
        <source>Some tensors differ, and only hashes of them were recorded: record them with --write full or sketch to see by how much, and where the runs fork.</source>
        <translation>有张量不同，但只记录了它们的哈希：请用 --write full 或 sketch 重新记录，才能看出差多少、从哪里分叉。</translation>
    </message>
    <message>
        <source>Nothing could be compared. The pairs say why.</source>
        <translation>没有任何内容可以比较。原因见各张量对。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::GateStrip</name>
    <message>
        <source>%1 of %2</source>
        <comment>pairs above the floor, pairs</comment>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>Neither run recorded its environment.</source>
        <translation>两次运行都没有记录环境。</translation>
    </message>
    <message>
        <source>%1 unexpected differences of environment, configuration and code; %2 expected ones.</source>
        <translation>环境、配置与代码有 %1 项意外差异，%2 项预期差异。</translation>
    </message>
    <message>
        <source>Gates of the step</source>
        <translation>一步的各个关口</translation>
    </message>
    <message>
        <source>Click for what was not seen, and why.</source>
        <translation>点击查看未看到的内容及原因。</translation>
    </message>
    <message>
        <source>In the selected step. Click to show only this phase.</source>
        <translation>仅统计所选的步。单击只显示此阶段。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::GraphCanvas</name>
    <message>
        <source>Graph</source>
        <translation>计算图</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::GraphLegend</name>
    <message>
        <source>Legend of the graph</source>
        <translation>计算图图例</translation>
    </message>
    <message>
        <source>only A or B</source>
        <translation>仅 A 或 B</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::GraphMinimap</name>
    <message>
        <source>Overview of the graph</source>
        <translation>计算图总览</translation>
    </message>
    <message>
        <source>The whole graph; drag to move the view.</source>
        <translation>整个计算图；拖动可移动视图。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::GraphView</name>
    <message>
        <source>Graph</source>
        <translation>计算图</translation>
    </message>
    <message>
        <source>Search  Ctrl+F</source>
        <translation>搜索  Ctrl+F</translation>
    </message>
    <message>
        <source>Part of a name or class, or a regular expression between slashes. Enter: next, Shift+Enter: previous, Esc: clear.</source>
        <translation>名称或类名的一部分，或写在斜杠之间的正则表达式。Enter：下一个，Shift+Enter：上一个，Esc：清除。</translation>
    </message>
    <message>
        <source>Search in the graph</source>
        <translation>在计算图中搜索</translation>
    </message>
    <message>
        <source>Expand to the fork</source>
        <translation>展开到分叉点</translation>
    </message>
    <message>
        <source>Shows the node where the runs part.</source>
        <translation>显示两次运行分叉的节点。</translation>
    </message>
    <message>
        <source>Collapse all</source>
        <translation>全部折叠</translation>
    </message>
    <message>
        <source>Groups below the root&apos;s children become single boxes.</source>
        <translation>根节点子级以下的组折叠为单个方框。</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <source>The whole graph in the view. Key 0.</source>
        <translation>显示整个计算图。快捷键 0。</translation>
    </message>
    <message>
        <source>Minimap</source>
        <translation>缩略图</translation>
    </message>
    <message>
        <source>Shows or hides the overview in the corner.</source>
        <translation>显示或隐藏角落的总览图。</translation>
    </message>
    <message>
        <source>Laying out the graph</source>
        <translation>正在布局计算图</translation>
    </message>
    <message>
        <source>The graph could not be drawn: %1</source>
        <translation>无法绘制计算图：%1</translation>
    </message>
    <message>
        <source>Reading the runs…</source>
        <translation>正在读取运行…</translation>
    </message>
    <message>
        <source>No graph: the runs could not be compared.</source>
        <translation>没有计算图：无法比较这两次运行。</translation>
    </message>
    <message>
        <source>No runs are open.</source>
        <translation>尚未打开运行。</translation>
    </message>
    <message>
        <source>No graph was recorded for this step: neither calls nor modules. All that was recorded is in the list of pairs.</source>
        <translation>此步没有记录计算图：既没有调用也没有模块。已记录的内容都在张量对列表中。</translation>
    </message>
    <message>
        <source>Laying out the graph…</source>
        <translation>正在布局计算图…</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>phase: meaning of the number</comment>
        <translation>%1：%2</translation>
    </message>
    <message>
        <source>Graph, %1</source>
        <translation>计算图，%1</translation>
    </message>
    <message>
        <source>not valid</source>
        <comment>regular expression</comment>
        <translation>无效</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <comment>number of a match, matches</comment>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>Collapse</source>
        <translation>折叠</translation>
    </message>
    <message>
        <source>Expand</source>
        <translation>展开</translation>
    </message>
    <message>
        <source>Focus</source>
        <translation>聚焦</translation>
    </message>
    <message>
        <source>Expand all groups</source>
        <translation>展开所有组</translation>
    </message>
    <message numerus="yes">
        <source>%n producer(s)</source>
        <translation>
            <numerusform>%n 个来源</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n consumer(s)</source>
        <translation>
            <numerusform>%n 个去向</numerusform>
        </translation>
    </message>
    <message>
        <source>Copy picture of the graph</source>
        <translation>复制计算图的图片</translation>
    </message>
    <message>
        <source>all phases</source>
        <translation>所有阶段</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::HeatmapBar</name>
    <message>
        <source>%1, key %2</source>
        <comment>mode</comment>
        <translation>%1，按键 %2</translation>
    </message>
    <message>
        <source>Flip</source>
        <translation>翻转</translation>
    </message>
    <message>
        <source>Flip A and B, hold Space</source>
        <translation>翻转 A 与 B，按住空格</translation>
    </message>
    <message>
        <source>Shows B for A, or A for B, in the same place and range. From a difference: A, and B the next time.</source>
        <translation>在相同位置与范围下以 B 换 A，或以 A 换 B。从差异图翻转时先显示 A，下一次显示 B。</translation>
    </message>
    <message>
        <source>log</source>
        <comment>logarithmic</comment>
        <translation>对数</translation>
    </message>
    <message>
        <source>Logarithmic colours</source>
        <translation>颜色取对数</translation>
    </message>
    <message>
        <source>Spreads the colours over the magnitudes, to both sides of zero where values have a sign.</source>
        <translation>颜色按数量级展开；有符号的值在零的两侧展开。</translation>
    </message>
    <message>
        <source>Lock</source>
        <translation>锁定</translation>
    </message>
    <message>
        <source>Lock the ranges</source>
        <translation>锁定范围</translation>
    </message>
    <message>
        <source>Keeps the range of each mode for other tensors, so that colours can be compared.</source>
        <translation>每种模式的范围对其他张量保持不变，便于比较颜色。</translation>
    </message>
    <message>
        <source>Profile</source>
        <translation>剖面</translation>
    </message>
    <message>
        <source>The values of A and B along the row or column of the element under the mouse, else of the pinned one.</source>
        <translation>鼠标处元素（否则为已固定元素）所在行或列上 A 与 B 的值。</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <source>Fit, 0 or F</source>
        <translation>适应，0 或 F</translation>
    </message>
    <message>
        <source>The whole picture in the view.</source>
        <translation>显示整幅图。</translation>
    </message>
    <message>
        <source>Go to</source>
        <translation>转到</translation>
    </message>
    <message>
        <source>Go to index, Ctrl+G</source>
        <translation>转到下标，Ctrl+G</translation>
    </message>
    <message>
        <source>Pins the element of an index that you type.</source>
        <translation>固定所输入下标的元素。</translation>
    </message>
    <message>
        <source>Worst</source>
        <translation>最差</translation>
    </message>
    <message>
        <source>Worst element, W</source>
        <translation>最差元素，W</translation>
    </message>
    <message>
        <source>Pins the element of largest finite magnitude in this mode, on this picture.</source>
        <translation>固定此模式下图中有限绝对值最大的元素。</translation>
    </message>
    <message>
        <source>Colour map</source>
        <translation>配色</translation>
    </message>
    <message>
        <source>Diverging: blue below zero, near-white at zero, orange above; for values with a sign.</source>
        <translation>双向配色：零以下为蓝，零处近白，零以上为橙；用于有符号的值。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::HeatmapView</name>
    <message>
        <source>Reading…</source>
        <translation>正在读取…</translation>
    </message>
    <message>
        <source>Reading %1</source>
        <translation>正在读取 %1</translation>
    </message>
    <message>
        <source>Heatmap</source>
        <translation>热图</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <comment>phase, kind</comment>
        <translation>%1，%2</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>update</source>
        <translation>更新量</translation>
    </message>
    <message>
        <source>What the step did to the parameter: after − start. The pair&apos;s numbers are of it too.</source>
        <translation>此步对参数的改变：步后 − 步前。这对张量的数值也由此计算。</translation>
    </message>
    <message>
        <source>A %1</source>
        <translation>A %1</translation>
    </message>
    <message>
        <source>B %1</source>
        <translation>B %1</translation>
    </message>
    <message>
        <source>of %1</source>
        <translation>共 %1</translation>
    </message>
    <message>
        <source>rtol %1, atol %2</source>
        <translation>rtol %1，atol %2</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <comment>colour map, range</comment>
        <translation>%1，%2</translation>
    </message>
    <message>
        <source>Picture of the tensor&apos;s elements</source>
        <translation>张量元素图</translation>
    </message>
    <message>
        <source>Index, e.g. 12, 77</source>
        <translation>下标，例如 12, 77</translation>
    </message>
    <message>
        <source>One number per dim, or one flat index. Enter pins the element, Esc closes.</source>
        <translation>每维一个数，或一个扁平下标。Enter 固定元素，Esc 关闭。</translation>
    </message>
    <message>
        <source>Index to go to</source>
        <translation>要转到的下标</translation>
    </message>
    <message>
        <source>Read again</source>
        <translation>重新读取</translation>
    </message>
    <message>
        <source>Heatmap: %1</source>
        <translation>热图：%1</translation>
    </message>
    <message>
        <source>Pin the element to the left</source>
        <translation>固定左侧元素</translation>
    </message>
    <message>
        <source>Pin the element to the right</source>
        <translation>固定右侧元素</translation>
    </message>
    <message>
        <source>Pin the element above</source>
        <translation>固定上方元素</translation>
    </message>
    <message>
        <source>Pin the element below</source>
        <translation>固定下方元素</translation>
    </message>
    <message>
        <source>Unpin the element</source>
        <translation>取消固定</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>放大</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>缩小</translation>
    </message>
    <message>
        <source>Fit the picture</source>
        <translation>适应整幅图</translation>
    </message>
    <message>
        <source>Worst element</source>
        <translation>最差元素</translation>
    </message>
    <message>
        <source>Go to index…</source>
        <translation>转到下标...</translation>
    </message>
    <message>
        <source>Flip A and B (hold Space)</source>
        <translation>翻转 A 与 B（按住空格）</translation>
    </message>
    <message>
        <source>Copy the pinned element</source>
        <translation>复制已固定的元素</translation>
    </message>
    <message>
        <source>Copy picture of the heatmap</source>
        <translation>复制热图</translation>
    </message>
    <message>
        <source>Fit the range</source>
        <translation>适应范围</translation>
    </message>
    <message>
        <source>Copy the range</source>
        <translation>复制范围</translation>
    </message>
    <message>
        <source>Paste a range</source>
        <translation>粘贴范围</translation>
    </message>
    <message>
        <source>No profile</source>
        <translation>无剖面</translation>
    </message>
    <message>
        <source>Profile of the row</source>
        <translation>行剖面</translation>
    </message>
    <message>
        <source>Profile of the column</source>
        <translation>列剖面</translation>
    </message>
    <message>
        <source>%1 × %2</source>
        <comment>rows, columns of elements</comment>
        <translation>%1 × %2</translation>
    </message>
    <message>
        <source>overview, a cell is %1 elements</source>
        <translation>概览，每格 %1 个元素</translation>
    </message>
    <message>
        <source>The portable comparison holds an overview of this tensor: a cell stands for %1 elements and shows the most extreme of them. Open the two runs to see single elements.</source>
        <translation>便携比较文件只含该张量的概览：每格代表 %1 个元素，显示其中最极端的值。要查看单个元素，请打开两次运行。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::LogPanel</name>
    <message>
        <source>curve</source>
        <translation>曲线</translation>
    </message>
    <message>
        <source>departs at</source>
        <translation>分开于步</translation>
    </message>
    <message>
        <source>difference</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>步数</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>说明</translation>
    </message>
    <message>
        <source>Curves</source>
        <translation>曲线</translation>
    </message>
    <message>
        <source>Curves of both logs</source>
        <translation>两份日志的曲线</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::MainWindow</name>
    <message>
        <source>Pairs</source>
        <translation>张量对</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Coverage</source>
        <translation>覆盖</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Open two runs…</source>
        <translation>打开两次运行(&amp;O)…</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>最近打开(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Samples</source>
        <translation>示例(&amp;S)</translation>
    </message>
    <message>
        <source>S&amp;wap A and B</source>
        <translation>交换 A 与 B(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;Close the runs</source>
        <translation>关闭运行(&amp;C)</translation>
    </message>
    <message>
        <source>Copy s&amp;ummary</source>
        <translation>复制摘要(&amp;U)</translation>
    </message>
    <message>
        <source>The summary is on the clipboard.</source>
        <translation>摘要已复制到剪贴板。</translation>
    </message>
    <message>
        <source>Copy &amp;picture of the window</source>
        <translation>复制窗口图片(&amp;P)</translation>
    </message>
    <message>
        <source>The picture is on the clipboard.</source>
        <translation>图片已复制到剪贴板。</translation>
    </message>
    <message>
        <source>Save screens&amp;hot…</source>
        <translation>保存截图(&amp;H)…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>视图(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Go</source>
        <translation>转到(&amp;G)</translation>
    </message>
    <message>
        <source>&amp;Next divergence</source>
        <translation>下一处偏离(&amp;N)</translation>
    </message>
    <message>
        <source>&amp;Previous divergence</source>
        <translation>上一处偏离(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Fork point</source>
        <translation>分叉点(&amp;F)</translation>
    </message>
    <message>
        <source>Next &amp;step</source>
        <translation>下一步(&amp;S)</translation>
    </message>
    <message>
        <source>Pre&amp;vious step</source>
        <translation>上一步(&amp;V)</translation>
    </message>
    <message>
        <source>F&amp;ilter pairs</source>
        <translation>筛选张量对(&amp;I)</translation>
    </message>
    <message>
        <source>Show all &amp;gates</source>
        <translation>显示全部关口(&amp;G)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <source>&amp;Shortcuts</source>
        <translation>快捷键(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;About Forkpoint</source>
        <translation>关于 Forkpoint(&amp;A)</translation>
    </message>
    <message>
        <source>Next divergence</source>
        <translation>下一处偏离</translation>
    </message>
    <message>
        <source>Copy summary</source>
        <translation>复制摘要</translation>
    </message>
    <message>
        <source>Swap</source>
        <translation>交换</translation>
    </message>
    <message>
        <source>Swap A and B: every difference changes its sign.</source>
        <translation>交换 A 与 B：所有差异变号。</translation>
    </message>
    <message>
        <source>&amp;All panels</source>
        <translation>全部面板(&amp;A)</translation>
    </message>
    <message>
        <source>Only the &amp;graph</source>
        <translation>仅计算图(&amp;G)</translation>
    </message>
    <message>
        <source>Only the &amp;heatmap</source>
        <translation>仅热力图(&amp;H)</translation>
    </message>
    <message>
        <source>Only the &amp;curves</source>
        <translation>仅曲线(&amp;C)</translation>
    </message>
    <message>
        <source>Only the &amp;pairs</source>
        <translation>仅张量对(&amp;P)</translation>
    </message>
    <message>
        <source>Only the c&amp;ontext</source>
        <translation>仅上下文(&amp;O)</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>主题(&amp;T)</translation>
    </message>
    <message>
        <source>&amp;System</source>
        <translation>跟随系统(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>浅色(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation>深色(&amp;D)</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>语言(&amp;L)</translation>
    </message>
    <message>
        <source>The language changes when Forkpoint is started again.</source>
        <translation>重新启动 Forkpoint 后语言生效。</translation>
    </message>
    <message>
        <source>Changes at the next start</source>
        <translation>下次启动时生效</translation>
    </message>
    <message>
        <source>%1 against %2 - Forkpoint</source>
        <translation>%1 对 %2 - Forkpoint</translation>
    </message>
    <message>
        <source>Save screenshot</source>
        <translation>保存截图</translation>
    </message>
    <message>
        <source>PNG picture (*.png)</source>
        <translation>PNG 图片 (*.png)</translation>
    </message>
    <message>
        <source>The picture could not be written to %1. Choose another folder.</source>
        <translation>图片无法写入 %1。请选择其他文件夹。</translation>
    </message>
    <message>
        <source>Shortcuts</source>
        <translation>快捷键</translation>
    </message>
    <message>
        <source>key</source>
        <translation>按键</translation>
    </message>
    <message>
        <source>action</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>About Forkpoint</source>
        <translation>关于 Forkpoint</translation>
    </message>
    <message>
        <source>Forkpoint %1: finds where two PyTorch runs fork, and why.</source>
        <translation>Forkpoint %1：找出两次 PyTorch 运行在哪里分叉，以及为什么。</translation>
    </message>
    <message>
        <source>This program is free software under the GNU General Public License, version 3 or later, without any warranty. Its core, the command line and the recorder are under the Apache License 2.0.

It uses Qt %1 (LGPL 3), QCustomPlot (GPL 3 or later), simdjson, oneTBB and OpenSSL (Apache 2.0), nlohmann/json and fmt (MIT), CLI11, Zstandard and xxHash (BSD) and tl::expected (CC0).</source>
        <translation>本程序是自由软件，依据 GNU 通用公共许可证第 3 版或更新版本发布，不提供任何担保。核心库、命令行程序和记录器依据 Apache 许可证 2.0 发布。

本程序使用 Qt %1（LGPL 3）、QCustomPlot（GPL 3 或更新版本）、simdjson、oneTBB 和 OpenSSL（Apache 2.0）、nlohmann/json 和 fmt（MIT）、CLI11、Zstandard 和 xxHash（BSD）以及 tl::expected（CC0）。</translation>
    </message>
    <message>
        <source>Curves</source>
        <translation>曲线</translation>
    </message>
    <message>
        <source>in</source>
        <comment>a view</comment>
        <translation>位于</translation>
    </message>
    <message>
        <source>graph</source>
        <translation>计算图</translation>
    </message>
    <message>
        <source>curves</source>
        <translation>曲线</translation>
    </message>
    <message>
        <source>heatmap</source>
        <translation>热图</translation>
    </message>
    <message>
        <source>Open a portable comparison…</source>
        <translation>打开便携比较文件…</translation>
    </message>
    <message>
        <source>Open a portable comparison</source>
        <translation>打开便携比较文件</translation>
    </message>
    <message>
        <source>Portable comparisons (*.forkcmp);;All files (*)</source>
        <translation>便携比较文件 (*.forkcmp);;所有文件 (*)</translation>
    </message>
    <message>
        <source>The reference run</source>
        <translation>参考运行</translation>
    </message>
    <message>
        <source>The candidate run</source>
        <translation>候选运行</translation>
    </message>
    <message>
        <source>The repeated reference run</source>
        <translation>重复的参考运行</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::OpenDialog</name>
    <message>
        <source>Swap A and B</source>
        <translation>交换 A 与 B</translation>
    </message>
    <message>
        <source>Open two runs</source>
        <translation>打开两次运行</translation>
    </message>
    <message>
        <source>reference</source>
        <translation>参考</translation>
    </message>
    <message>
        <source>candidate</source>
        <translation>候选</translation>
    </message>
    <message>
        <source>noise run</source>
        <translation>噪声运行</translation>
    </message>
    <message>
        <source>optional: the reference recorded again</source>
        <translation>可选：再次记录的参考运行</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <source>Browse…</source>
        <translation>浏览…</translation>
    </message>
    <message>
        <source>A is the run you trust. Every difference is shown as B − A. RUN@1 takes rank 1 of a run alone. Tensors and logs of both runs open too.</source>
        <translation>A 是您信任的运行。所有差异都显示为 B − A。RUN@1 只取一次运行的 rank 1。两次运行的张量和日志也可以打开。</translation>
    </message>
    <message>
        <source>Choose: %1</source>
        <translation>选择：%1</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::PairFilter</name>
    <message>
        <source>Not a regular expression: %1, at character %2.</source>
        <translation>不是正则表达式：%1，位于第 %2 个字符。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::PairModel</name>
    <message>
        <source>pending</source>
        <translation>待比较</translation>
    </message>
    <message>
        <source>step %1, %2 %3</source>
        <translation>第 %1 步，%2 %3</translation>
    </message>
    <message>
        <source>severity</source>
        <translation>严重程度</translation>
    </message>
    <message>
        <source>pair</source>
        <translation>张量对</translation>
    </message>
    <message>
        <source>× floor</source>
        <translation>× 底噪</translation>
    </message>
    <message>
        <source>error</source>
        <translation>误差</translation>
    </message>
    <message>
        <source>new error here</source>
        <translation>此处新增误差</translation>
    </message>
    <message>
        <source>max |d|</source>
        <translation>max |d|</translation>
    </message>
    <message>
        <source>dtype</source>
        <translation>dtype</translation>
    </message>
    <message>
        <source>shape</source>
        <translation>形状</translation>
    </message>
    <message>
        <source>matched by</source>
        <translation>匹配规则</translation>
    </message>
    <message>
        <source>Identical: same bits. Noise: within what rounding makes of it. Drift: up to 100 times that floor. Divergent: more. Invalid: NaN or infinity on one side only, or shapes that cannot be related.</source>
        <translation>一致：逐位相同。噪声：在舍入误差之内。漂移：不超过底噪的 100 倍。偏离：更大。无效：只有一侧出现 NaN 或无穷大，或形状无法对应。</translation>
    </message>
    <message>
        <source>Phase / kind / module and parameter, #call and :slot where they are not the first.</source>
        <translation>阶段 / 种类 / 模块与参数；非首个时附 #调用 和 :槽位。</translation>
    </message>
    <message>
        <source>The larger of error / floor and max |d| / (16 × floor × largest magnitude): up to 1 is noise, up to 100 drift, above divergent.</source>
        <translation>取“误差 / 底噪”与“max |d| /（16 × 底噪 × 最大幅值）”中较大者：不超过 1 为噪声，不超过 100 为漂移，更大为偏离。</translation>
    </message>
    <message>
        <source>|B − A| / max(|A|, |B|, S) in the 2-norm, of the worst rank. S applies to parameter gradients: the largest rms gradient in the module times √n. Parameters after the step are measured on their update.</source>
        <translation>最差 rank 在 2-范数下的 |B − A| / max(|A|, |B|, S)。S 只用于参数梯度：模块内最大的均方根梯度乘以 √n。更新后的参数按其更新量衡量。</translation>
    </message>
    <message>
        <source>max(0, error − largest error among the recorded inputs): what this pair adds to what it was given.</source>
        <translation>max(0, 误差 − 已记录输入的最大误差)：该张量对在其输入之上新增的误差。</translation>
    </message>
    <message>
        <source>Largest |B − A| over the elements that are finite on both sides.</source>
        <translation>两侧均为有限值的元素中最大的 |B − A|。</translation>
    </message>
    <message>
        <source>Element type; A → B where they differ.</source>
        <translation>元素类型；不同时写作 A → B。</translation>
    </message>
    <message>
        <source>Shape of the compared whole; A → B where they differ.</source>
        <translation>所比较整体的形状；不同时写作 A → B。</translation>
    </message>
    <message>
        <source>The rule that made this a pair.</source>
        <translation>使二者成为一对的规则。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::PairPanel</name>
    <message>
        <source>Pairs in execution order</source>
        <translation>张量对（按执行顺序）</translation>
    </message>
    <message>
        <source>Pairs in the order of the files</source>
        <translation>张量对（按文件顺序）</translation>
    </message>
    <message>
        <source>all steps</source>
        <translation>全部步</translation>
    </message>
    <message>
        <source>List the pairs of every compared step, not only of the selected one.</source>
        <translation>列出所有已比较步的张量对，而不只是所选的一步。</translation>
    </message>
    <message>
        <source>Filter: text or /regex/</source>
        <translation>筛选：文本或 /正则/</translation>
    </message>
    <message>
        <source>Filter pairs</source>
        <translation>筛选张量对</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <comment>listed pairs, all pairs</comment>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>%1, %2 pending</source>
        <translation>%1，%2 待比较</translation>
    </message>
    <message>
        <source>The pairs are listed as soon as both runs are read.</source>
        <translation>读完两次运行后即列出张量对。</translation>
    </message>
    <message>
        <source>No pairs in this step.</source>
        <translation>这一步没有张量对。</translation>
    </message>
    <message>
        <source>No pair passes the filter. Clear the text, the chosen gate or the severities below.</source>
        <translation>没有符合筛选条件的张量对。请清除文本、所选关口或下方的严重程度。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::PhaseSwitch</name>
    <message>
        <source>Phase that the graph shows</source>
        <translation>计算图显示的阶段</translation>
    </message>
    <message>
        <source>Colours the graph by this phase of the step; once more: by the worst of all phases. Selecting a pair shows its phase.</source>
        <translation>按此阶段为计算图着色；再按一次则取所有阶段中最严重的。选中一对张量会显示其阶段。</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::ProfilePlot</name>
    <message>
        <source>Profile of A and B</source>
        <translation>A 与 B 的剖面</translation>
    </message>
    <message>
        <source>at %1 to %2</source>
        <translation>位于 %1 至 %2</translation>
    </message>
    <message>
        <source>at %1</source>
        <translation>位于 %1</translation>
    </message>
    <message>
        <source>%1, %2: A %3, B %4</source>
        <translation>%1，%2：A %3，B %4</translation>
    </message>
    <message>
        <source>no row or column to show</source>
        <translation>没有可显示的行或列</translation>
    </message>
    <message>
        <source>no finite value in view</source>
        <translation>视图中没有有限值</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::RangeBar</name>
    <message>
        <source>Low end of the range: %1</source>
        <translation>范围下限：%1</translation>
    </message>
    <message>
        <source>High end of the range: %1</source>
        <translation>范围上限：%1</translation>
    </message>
    <message>
        <source>the values are being counted</source>
        <translation>正在统计数值</translation>
    </message>
    <message>
        <source>equal %1</source>
        <translation>相等 %1</translation>
    </message>
    <message>
        <source>within the tolerance %1</source>
        <translation>容差内 %1</translation>
    </message>
    <message>
        <source>over the tolerance %1</source>
        <translation>超出容差 %1</translation>
    </message>
    <message>
        <source>%1 finite values, %2 below the range, %3 above</source>
        <translation>%1 个有限值，%2 个低于范围，%3 个高于范围</translation>
    </message>
    <message>
        <source>NaN %1, +Inf %2, -Inf %3</source>
        <translation>NaN %1，+Inf %2，-Inf %3</translation>
    </message>
    <message>
        <source>Range of the colours</source>
        <translation>颜色范围</translation>
    </message>
    <message>
        <source>High end of the range</source>
        <translation>范围上限</translation>
    </message>
    <message>
        <source>Low end of the range</source>
        <translation>范围下限</translation>
    </message>
    <message>
        <source>Type a number, such as 0.001 or 1e-3.</source>
        <translation>请输入数字，例如 0.001 或 1e-3。</translation>
    </message>
    <message>
        <source>A logarithmic range begins above 0.</source>
        <translation>对数范围必须大于 0。</translation>
    </message>
    <message>
        <source>The range reaches as far below 0 as above: type another number than 0.</source>
        <translation>范围在 0 两侧对称：请输入非 0 的数。</translation>
    </message>
    <message>
        <source>The high end must be above the low end, %1.</source>
        <translation>上限必须高于下限 %1。</translation>
    </message>
    <message>
        <source>The low end must be below the high end, %1.</source>
        <translation>下限必须低于上限 %1。</translation>
    </message>
    <message>
        <source>Values are on a logarithmic axis, with a linear piece about zero up to %1. Bars are counts, on a logarithmic axis too; of several bins under one pixel the largest is drawn.</source>
        <translation>数值用对数轴，零附近到 %1 为线性段。柱高为个数，同样取对数；多个区间落在一个像素时画最大者。</translation>
    </message>
    <message>
        <source>Drag an end, or move it with the arrow keys. Double click an end to type its number; double click elsewhere to fit.</source>
        <translation>拖动端点，或用方向键移动。双击端点输入数字；双击其他位置适应范围。</translation>
    </message>
    <message>
        <source>zero: %1</source>
        <translation>零：%1</translation>
    </message>
    <message>
        <source>other values up to %1: %2</source>
        <translation>不超过 %1 的其他值：%2</translation>
    </message>
    <message>
        <source>%1 to %2: %3</source>
        <translation>%1 至 %2：%3</translation>
    </message>
    <message>
        <source>%1 to %2 in all</source>
        <translation>总体 %1 至 %2</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1 %</translation>
    </message>
    <message>
        <source>%1 below</source>
        <translation>%1 低于</translation>
    </message>
    <message>
        <source>%1 above</source>
        <translation>%1 高于</translation>
    </message>
    <message>
        <source>log</source>
        <translation>对数</translation>
    </message>
    <message>
        <source>counting the values</source>
        <translation>正在统计数值</translation>
    </message>
    <message>
        <source>no finite value</source>
        <translation>没有有限值</translation>
    </message>
    <message>
        <source>log axes</source>
        <translation>对数轴</translation>
    </message>
    <message>
        <source>not fitted</source>
        <translation>未适应</translation>
    </message>
    <message>
        <source>equal</source>
        <translation>相等</translation>
    </message>
    <message>
        <source>within the tolerance</source>
        <translation>容差内</translation>
    </message>
    <message>
        <source>over the tolerance</source>
        <translation>超出容差</translation>
    </message>
    <message>
        <source>within</source>
        <translation>容差内</translation>
    </message>
    <message>
        <source>over</source>
        <translation>超差</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1（%2）</translation>
    </message>
    <message>
        <source>pairs of elements: %1</source>
        <translation>元素对：%1</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::RunBar</name>
    <message>
        <source>Previous step</source>
        <translation>上一步</translation>
    </message>
    <message>
        <source>Next step</source>
        <translation>下一步</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>Colour by</source>
        <translation>着色依据</translation>
    </message>
    <message>
        <source>severity</source>
        <translation>严重程度</translation>
    </message>
    <message>
        <source>output error</source>
        <translation>输出误差</translation>
    </message>
    <message>
        <source>new error here</source>
        <translation>此处新增误差</translation>
    </message>
    <message>
        <source>Severity: how far the error is above the floor.</source>
        <translation>严重程度：误差超出底噪多少。</translation>
    </message>
    <message>
        <source>The error of each pair itself.</source>
        <translation>每个张量对本身的误差。</translation>
    </message>
    <message>
        <source>What each pair adds to the error of its inputs.</source>
        <translation>每个张量对在其输入误差之上新增的部分。</translation>
    </message>
    <message>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>colour by</source>
        <translation>着色</translation>
    </message>
    <message>
        <source>A repeat of the reference measures the noise floor. Click to choose one.</source>
        <translation>重复一次参考运行可实测底噪。点击选择。</translation>
    </message>
    <message>
        <source>Compared steps: %1</source>
        <translation>已比较的步：%1</translation>
    </message>
    <message>
        <source>worst</source>
        <translation>最差</translation>
    </message>
    <message>
        <source>Which rank&apos;s result of the selected pair is shown.</source>
        <translation>显示所选张量对在哪个 rank 的结果。</translation>
    </message>
    <message>
        <source>The selected pair has one result: one rank, or the whole assembled from all ranks.</source>
        <translation>所选张量对只有一个结果：单个 rank，或由全部 rank 拼合的整体。</translation>
    </message>
    <message>
        <source>Open another reference…</source>
        <translation>打开其他参考运行…</translation>
    </message>
    <message>
        <source>Open another candidate…</source>
        <translation>打开其他候选运行…</translation>
    </message>
    <message>
        <source>Open a repeat of the reference…</source>
        <translation>打开重复的参考运行…</translation>
    </message>
    <message>
        <source>Compare without the noise run</source>
        <translation>不使用噪声运行比较</translation>
    </message>
    <message>
        <source>%1, in the portable comparison %2</source>
        <translation>%1，位于便携比较文件 %2 中</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::RunChip</name>
    <message>
        <source>reference:</source>
        <translation>参考：</translation>
    </message>
    <message>
        <source>candidate:</source>
        <translation>候选：</translation>
    </message>
    <message>
        <source>noise run:</source>
        <translation>噪声运行：</translation>
    </message>
    <message>
        <source>none</source>
        <comment>no run</comment>
        <translation>无</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::Session</name>
    <message>
        <source>Comparing</source>
        <translation>正在比较</translation>
    </message>
    <message>
        <source>Opening</source>
        <translation>正在打开</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::SeverityButton</name>
    <message numerus="yes">
        <source>%n pair(s). Click to list only these; several can be chosen.</source>
        <translation>
            <numerusform>%n 对。点击只列出这些；可多选。</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::SliceBar</name>
    <message>
        <source>Plane</source>
        <translation>平面</translation>
    </message>
    <message>
        <source>The last two dims; the others at one index</source>
        <translation>最后两维；其余各取一个下标</translation>
    </message>
    <message>
        <source>Overview</source>
        <translation>全览</translation>
    </message>
    <message>
        <source>All elements at once: leading dims on the rows, the others on the columns</source>
        <translation>一次显示所有元素：前几维在行上，其余在列上</translation>
    </message>
    <message>
        <source>Exchange rows and columns</source>
        <translation>交换行与列</translation>
    </message>
    <message>
        <source>Rows</source>
        <translation>行</translation>
    </message>
    <message>
        <source>Columns</source>
        <translation>列</translation>
    </message>
    <message>
        <source>Dims on the rows</source>
        <translation>行上的维</translation>
    </message>
    <message>
        <source>Dims on the columns</source>
        <translation>列上的维</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1（%2）</translation>
    </message>
    <message>
        <source>dim %1 (%2)</source>
        <translation>维 %1（%2）</translation>
    </message>
    <message>
        <source>dims %1-%2 (%3)</source>
        <translation>维 %1-%2（%3）</translation>
    </message>
    <message>
        <source>Index of dim %1</source>
        <translation>维 %1 的下标</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::StartScreen</name>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <source>Find where two runs fork</source>
        <translation>找出两次运行从哪里分叉</translation>
    </message>
    <message>
        <source>Samples</source>
        <translation>示例</translation>
    </message>
    <message>
        <source>Recent</source>
        <translation>最近</translation>
    </message>
    <message>
        <source>Record your own</source>
        <translation>记录你自己的运行</translation>
    </message>
    <message>
        <source>Put this before the command that starts your training, once for each run. The script is not changed, and neither are its numbers.</source>
        <translation>把它加在启动训练的命令之前，每次运行各记录一次。脚本不会被修改，数值也不会改变。</translation>
    </message>
    <message>
        <source>Command that records a run</source>
        <translation>记录运行的命令</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>No samples are installed beside this program.</source>
        <translation>程序旁没有安装示例。</translation>
    </message>
    <message>
        <source>Nothing yet. Pairs that you open are listed here.</source>
        <translation>暂无。打开过的运行会列在这里。</translation>
    </message>
    <message>
        <source>Open a portable comparison…</source>
        <translation>打开便携比较文件…</translation>
    </message>
    <message>
        <source>One file (.forkcmp) that forkpoint-cli compare A B -o writes; the runs need not be on this machine.</source>
        <translation>由 forkpoint-cli compare A B -o 写出的单个文件（.forkcmp）；本机上无需有两次运行的记录。</translation>
    </message>
    <message>
        <source>Two runs of the same training should agree and do not. Open what was recorded or logged of both.</source>
        <translation>同一训练的两次运行本应一致，却不一致。请打开两次运行的记录或日志。</translation>
    </message>
    <message>
        <source>The reference run</source>
        <translation>参考运行</translation>
    </message>
    <message>
        <source>The candidate run</source>
        <translation>候选运行</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::StatusLine</name>
    <message>
        <source>reading</source>
        <translation>读取中</translation>
    </message>
    <message>
        <source>matching</source>
        <translation>匹配中</translation>
    </message>
    <message>
        <source>measuring</source>
        <translation>测量中</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Stop. What is ready stays, marked as partial.</source>
        <translation>停止。已完成的部分会保留，并标为未完成。</translation>
    </message>
    <message numerus="yes">
        <source>%n pair(s) compared</source>
        <translation>
            <numerusform>已比较 %n 对</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 of %n pair(s) compared</source>
        <translation>
            <numerusform>已比较 %1 / %n 对</numerusform>
        </translation>
    </message>
    <message>
        <source>backend %1</source>
        <translation>后端 %1</translation>
    </message>
    <message>
        <source>, </source>
        <comment>between parts of a list</comment>
        <translation>，</translation>
    </message>
</context>
<context>
    <name>forkpoint::ui::VerdictBar</name>
    <message numerus="yes">
        <source>%1 of %n pair(s) compared.</source>
        <translation>
            <numerusform>已比较 %1 / %n 对。</numerusform>
        </translation>
    </message>
    <message>
        <source>Comparing the runs…</source>
        <translation>正在比较…</translation>
    </message>
    <message>
        <source>Reading the runs…</source>
        <translation>正在读取…</translation>
    </message>
    <message>
        <source>Stopped before the end: there is no verdict.</source>
        <translation>提前停止：没有结论。</translation>
    </message>
    <message>
        <source>The comparison failed.</source>
        <translation>比较失败。</translation>
    </message>
</context>
</TS>
